"""Byte-exact files beneath a root: confined paths, atomic writes, ignore files, listing."""

"""Checkpoints of a workspace: a private git object store outside it, and restoring files from there."""

"""Decisions about shell commands."""

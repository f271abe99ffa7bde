"""Searching contents and names of files with ripgrep."""

"""Tools that run shell commands and read their output."""

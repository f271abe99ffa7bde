"""Compares versions of a file line by line, and finds the change that a line came from."""

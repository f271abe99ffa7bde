"""Lines by their content: comparing versions of a file, and finding the change that a line came from."""

"""The help of the command line: the first page, topics, shell completion, the man page."""

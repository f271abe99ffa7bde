"""git for our own calls, and whether a git command only reads a repository."""

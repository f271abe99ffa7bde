"""Search the contents and names of files with ripgrep."""

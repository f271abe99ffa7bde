"""Text output shared by clients: diffs, views, todo lists, retries and errors in words, progress."""

"""What clients that write text share: diffs, views, todo lists, retries and errors in words, progress."""

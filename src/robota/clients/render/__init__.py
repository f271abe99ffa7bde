"""What clients that write text share: diffs, titles of calls, retry words, safe text, colours and width."""

"""Text of files: encodings, line endings, edits on source text, syntax checks."""

"""The line-by-line client for terminals: every ask can be answered, nothing is redrawn."""

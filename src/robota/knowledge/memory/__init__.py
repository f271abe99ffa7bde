"""Memory between sessions: entries in Markdown files, candidates that wait for approval, checks, and their prompt."""

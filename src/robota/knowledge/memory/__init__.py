"""What a person wants remembered between sessions: entries in Markdown files, candidates, checks, and their prompt."""

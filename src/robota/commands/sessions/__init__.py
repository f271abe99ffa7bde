"""What the verbs of sessions do: list, search, read, export, change and verify stored sessions."""

"""Check for a newer release, at most once a day."""

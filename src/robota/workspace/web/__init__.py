"""Fetching web pages as Markdown, posting to hooks; which addresses may be reached."""

"""Fetch web pages as Markdown, post to hooks, and check which addresses are allowed."""

"""Thinking and calls that Gemma models write into their text."""

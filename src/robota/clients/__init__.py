"""Thin readers of the event stream: headless and plain, on render, terminal and view. May use protocol and text."""

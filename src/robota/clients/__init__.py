"""Thin readers of the event stream: headless, plain, tui and debug, on render, terminal and view. May use protocol and text."""

"""Thin readers of the event stream: headless, plain, tui, debug, on render, terminal, view. May use protocol and text."""

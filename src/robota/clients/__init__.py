"""Thin readers of the event stream: headless, plain, tui, debug; and render, terminal, view. Uses protocol and text."""

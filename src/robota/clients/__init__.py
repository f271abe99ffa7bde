"""Clients, which read the event stream: headless, plain, tui, debug; and render, terminal, view. Use protocol, text."""

"""Processes: commands in foreground and background, their environment, watching and ending them."""

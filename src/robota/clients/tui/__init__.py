"""The terminal UI: inline in the terminal's own scrollback, with a bounded live region at its end."""

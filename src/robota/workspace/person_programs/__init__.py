"""Programs of the person who sits there: their editor, their clipboard, their status line. They run as the person."""

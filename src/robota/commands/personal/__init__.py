"""The files with which a user changes the terminal UI: reads them, for the session and for `/theme` and `/keys`."""

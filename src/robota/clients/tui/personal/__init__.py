"""What the user has changed by files: themes and key bindings. Pure: others read the files."""

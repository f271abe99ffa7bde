"""Skills and prompt commands: finding their files, reading their metadata, and expanding them into a prompt."""

"""Skills and prompt commands: where they are found, what their files say, and how one becomes a prompt."""

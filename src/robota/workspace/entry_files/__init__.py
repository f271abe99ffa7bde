"""The files that determine what a command does: finding them, and comparing them with those that the user approved."""

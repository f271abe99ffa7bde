"""Pictures of the terminal UI for the documentation, made by the real program: `python -m scripts.pictures`."""

"""Plugins: what they bring, where they come from, which are installed. Nothing of one runs before a person agreed."""

"""Plugins and marketplaces: reading, fetching, installing. Nothing of a plugin runs before the user agreed to it."""

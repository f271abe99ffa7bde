"""Maintenance of intents: editing their file, running criteria, lessons, the map and their progress."""

"""What people do with intents: editing their file, running their criteria, lessons, the map, and how far each is."""

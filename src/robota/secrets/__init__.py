"""Find keys and passwords in text and settings, and redact them. Imports nothing from robota except protocol."""

"""Finding keys and passwords in text and settings, and covering them. May use nothing of robota but protocol."""

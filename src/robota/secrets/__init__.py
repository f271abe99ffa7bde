"""Finding keys and passwords in text, and covering them. May use nothing of robota but protocol."""

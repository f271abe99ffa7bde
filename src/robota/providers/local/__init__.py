"""Models on this machine: the built-in tiny model, and servers that run here."""

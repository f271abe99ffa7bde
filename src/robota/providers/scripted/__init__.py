"""The scripted model: replies from a script."""

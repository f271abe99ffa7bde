"""The scripted model: says what a script tells it to."""

"""The calls of a log, each with the prompt that led to it and who approved it."""

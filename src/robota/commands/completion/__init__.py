"""Completion in the prompt: slash commands, their arguments, and mentions."""

"""Instruction files and rules for the model: where they are found, what they import, what the system prompt says."""

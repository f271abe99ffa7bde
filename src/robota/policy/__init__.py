"""Permissions: modes and rules, as pure functions. May use contracts and below; never prompts or runs anything."""

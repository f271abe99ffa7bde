"""Worktrees, in which agents work side by side. May use the engine and everything below it."""

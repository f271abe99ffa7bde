"""Agents beside the one in the terminal, and places for them to work in: worktrees.

May use the engine and what is below it.
"""

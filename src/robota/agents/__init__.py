"""Agents beside the one in the terminal, and the worktrees they work in.

May use the engine and what is below it.
"""

"""Worktrees for sessions: created, reused, and removed at the end unless something would be lost."""

"""Worktrees for sessions: made, taken up again, kept if they have something to lose, removed if not."""

"""Errors about worktrees."""

from robota.config.errors import ConfigError


class WorktreeError(ConfigError):
    """There is no worktree for the session. The text says why, what was left untouched and what to do next."""

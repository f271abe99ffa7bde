"""Errors about worktrees."""

from robota.config.errors import ConfigError


class WorktreeError(ConfigError):
    """The session cannot get a worktree. The text says why, what was left untouched and what to do next."""

"""What can be wrong with a place for an agent to work in."""

from robota.config.errors import ConfigError


class WorktreeError(ConfigError):
    """There is no worktree for the session. The text says why, what was left untouched and what to do next."""

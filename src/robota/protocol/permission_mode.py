"""How much Robota may do without asking."""

from enum import StrEnum


class PermissionMode(StrEnum):
    """From the most careful to the least."""

    PLAN = "plan"  # look and talk, change nothing
    DEFAULT = "default"  # look freely, ask before anything else
    ACCEPT_EDITS = "acceptEdits"  # also edit files in the workspace
    CONFINED = "confined"  # also run commands that are confined and can be undone
    BYPASS = "bypassPermissions"  # everything that is not forbidden outright

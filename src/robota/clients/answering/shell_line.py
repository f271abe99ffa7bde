"""Recognize `!command`, a command line that the user runs directly, in typed text."""

import re
from typing import Final

# A Markdown image is not a command.
SHELL_LINE: Final = r"(?s)\s*!(?!\[[^\]\n]*\]\()\s*(?P<command>\S.*)"


def shell_command(typed: str) -> str | None:
    """The command line; None if the text is not one."""
    found = re.fullmatch(SHELL_LINE, typed) if typed.lstrip().startswith("!") else None
    return None if found is None else found["command"].rstrip()

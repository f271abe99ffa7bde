"""`!command`: a command line that a person runs themselves, in what they typed."""

import re
from typing import Final

# A picture of Markdown is no command.
SHELL_LINE: Final = r"(?s)\s*!(?!\[[^\]\n]*\]\()\s*(?P<command>\S.*)"


def shell_command(typed: str) -> str | None:
    """The command line; None if these are words."""
    found = re.fullmatch(SHELL_LINE, typed) if typed.lstrip().startswith("!") else None
    return None if found is None else found["command"].rstrip()

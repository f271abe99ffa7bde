"""Requests to servers that run in the session: in the sandbox, loopback leads to these alone."""

import re
from typing import Final

from robota.policy.shell.command_part import CommandPart

ADDRESS: Final = r"https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?(?:[/?][^{}\[\]]*)?"
FLAGS: Final = "-[sSfiIv]+|--(?:silent|show-error|fail|include|head|verbose|compressed)"
# Options with a value, and what the value may be: a format can name a file to read or to write.
VALUED: Final[dict[str, str]] = {
    **dict.fromkeys(("-m", "--max-time", "--connect-timeout", "--retry", "--retry-delay"), "[0-9.]+"),
    **dict.fromkeys(("-H", "--header"), "[^@].*"),
    **dict.fromkeys(("-w", "--write-out"), r"(?:[^@%]|%\{[a-z_]+\})*"),
    **dict.fromkeys(("-o", "--output"), "/dev/null"),
}


def reads_own_server(part: CommandPart) -> bool:
    """Whether the command is `curl` that only requests pages of this machine and prints them."""
    if part.inner[0] != "curl" or not part.unwrapped.faithful or part.written or part.command.globs:
        return False
    addresses, words = 0, iter(part.inner[1:])
    for word in words:
        if word in VALUED:
            if re.fullmatch(VALUED[word], next(words, "")) is None:
                return False
        elif re.fullmatch(ADDRESS, word):
            addresses += 1
        elif re.fullmatch(FLAGS, word) is None:
            return False
    return addresses > 0

"""Which hidden places of the home a failed command may have missed, as far as its output names them.

The output can name any path, and the model reads what is said about it. So nothing outside is looked at: the answer is
the same whether something is there or not.
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

# What programs say about a file that is not there, or, under Landlock, closed.
MISSING: Final = re.compile(r"(?i)no such file|not found|ENOENT|does not exist|doesn't exist|cannot (?:find|open)")
CLOSED: Final = re.compile(r"(?i)permission denied|EACCES")
NAMED: Final = re.compile(r"(?<![\w.~/])((?:~|\$HOME)?/[^\s'\"`:;,()\[\]<>]+)")
MAX_LINES: Final = 2_000
MAX_TOLD: Final = 3
MISSED: Final = (
    "{!r} is hidden from commands in the sandbox, whether it exists or not, like everything in the home that programs "
    "do not usually need. Unless credentials are kept there, /add-dir lets this session read a directory, and this "
    "lets commands read it in every session: robota config set sandbox.readable {} --add"
)


def missed_places(
    output: str, areas: Sequence[Path], is_visible: Callable[[str], bool], home: Path | None
) -> tuple[str, ...]:
    """A sentence for each path in the hidden `areas` that the output calls missing."""
    paths: dict[str, None] = {}
    for line in output.splitlines()[-MAX_LINES:]:
        if MISSING.search(line) or CLOSED.search(line):
            paths.update(dict.fromkeys(path for name in NAMED.findall(line) if (path := _absolute(name, home))))
    missed = (path for path in paths if any(path.startswith(f"{area}/") for area in areas) and not is_visible(path))
    return tuple(MISSED.format(path, path) for path in list(missed)[:MAX_TOLD])


def _absolute(named: str, home: Path | None) -> str:
    for sign in ("~/", "$HOME/"):
        if named.startswith(sign):
            return "" if home is None else os.path.normpath(home / named.removeprefix(sign))
    return os.path.normpath(named.rstrip("."))

"""Whether other programs obey a file or directory because of its name, or of its name and that of its directory.

All names are casefolded, because some file systems ignore case.
"""

import fnmatch
import re
from collections.abc import Iterable
from typing import Final

from robota.workspace.files.protected_names import PROTECTED_NAMES

PATTERNS: Final = tuple(name.pattern.casefold() for name in PROTECTED_NAMES)
NAMES: Final = frozenset(pattern for pattern in PATTERNS if "/" not in pattern and "*" not in pattern)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))


GLOBS: Final = _any_of(pattern for pattern in PATTERNS if "/" not in pattern and "*" in pattern)
# `.github/workflows`: the name of a directory, and a name in it.
PAIRS: Final = _any_of(pattern for pattern in PATTERNS if pattern.count("/") == 1)
PARENTS: Final = _any_of({pattern.partition("/")[0] for pattern in PATTERNS if "/" in pattern})


def has_obeyed_name(parent: str, name: str) -> bool:
    """Whether other programs obey what has this name in a directory with the name `parent`."""
    return name in NAMES or GLOBS.fullmatch(name) is not None or PAIRS.fullmatch(f"{parent}/{name}") is not None


def may_hold_obeyed(name: str) -> bool:
    """Whether some names are obeyed only in a directory with this name."""
    return PARENTS.fullmatch(name) is not None

"""Which interpreter a script names in its first line."""

import os
from typing import Final

MAX_SHEBANG_BYTES: Final = 256


def shebang_words(data: bytes) -> list[str]:
    """The interpreter in the first line of a script, with its arguments."""
    first = data[:MAX_SHEBANG_BYTES].partition(b"\n")[0]
    return os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []

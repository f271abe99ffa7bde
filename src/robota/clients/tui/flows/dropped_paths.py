"""Recognize files dropped on the terminal, which arrive as a paste of their paths."""

import re
import shlex
from typing import Final
from urllib.parse import unquote

LONGEST: Final = 10_000
BARE_PATH: Final = r"/[^\n\\'\"]*"
FILE_URL: Final = r"file://(?:localhost)?(?=/)"


def dropped_paths(pasted: str) -> tuple[str, ...]:
    """The absolute paths, if the paste is nothing but paths: quoted, with backslashes, or as file URLs; else none."""
    text = pasted.strip()
    if not text or len(text) > LONGEST:
        return ()
    if re.fullmatch(BARE_PATH, text) and " /" not in text:
        return (text,)  # some terminals paste a path with spaces unquoted
    try:
        words = shlex.split(text)
    except ValueError:
        return ()
    paths = tuple(unquote(re.sub(FILE_URL, "", word)) if re.match(FILE_URL, word) else word for word in words)
    return paths if all(path.startswith("/") for path in paths) else ()

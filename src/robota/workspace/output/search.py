"""Find lines in a stored output, in bounded time and memory."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.outside_program import start_outside_async

SEARCH_S: Final = 5.0
PROGRAM: Final = str(Path(__file__).with_name("scan.py"))


class OutputSearchFailed(Exception):
    """The search failed. The message says why, for the model."""


class OutputMatch(msgspec.Struct, frozen=True, array_like=True):
    """A matching line: its number from 1, its position in the file, and its text, or a part of it if that `is_cut`."""

    line: int
    offset: int
    text: str
    is_cut: bool


class OutputSearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """`matches` counts all matches, even if they did not fit in `found`. `invalid` is the error in the pattern."""

    matches: int = 0
    found: tuple[OutputMatch, ...] = ()
    total_bytes: int = 0
    invalid: str | None = None


async def search_output(path: Path, pattern: str, offset: int, room: int) -> OutputSearchResult:
    """Lines from byte `offset` on that match a Python regular expression, ignoring case."""
    order = msgspec.json.encode({"path": str(path), "pattern": pattern, "offset": offset, "room": room})
    process = await start_outside_async(
        (sys.executable, "-I", "-S", "-X", "utf8", PROGRAM, order.decode()),
        workspace=None,
        env=os.environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(SEARCH_S):
            answer, _ = await process.communicate()
    except TimeoutError as error:
        message = f"The search took more than {SEARCH_S:g} s and was stopped. Use a simpler pattern or a larger offset."
        raise OutputSearchFailed(message) from error
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode != 0:
        message = f"The output could not be searched (exit code {process.returncode})."
        raise OutputSearchFailed(f"{message} Read it page by page.")
    result = msgspec.json.decode(answer, type=OutputSearchResult)
    if result.invalid is not None:
        problem = f"{pattern!r} is not a valid regular expression: {result.invalid}. Nothing was searched. Correct it."
        raise OutputSearchFailed(problem)
    return result

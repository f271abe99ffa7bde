"""Caches the rewind history of a log, so that only new records are read."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import LogPosition, continues, records_since
from robota.log.errors import LogUnreadable
from robota.log.replay.derived_file import read_derived, write_derived
from robota.log.replay.rewind_points import RewindFold, RewindHistory
from robota.version import VERSION

FORMAT: Final = f"rewind 2 {VERSION}"
GROWTH_BYTES: Final = 2 * 1024 * 1024
PROGRESS_BYTES: Final = 1024 * 1024


class RewindIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The rewind history of the log up to a position."""

    position: LogPosition
    fold: RewindFold


def read_rewind_history(
    log: Path,
    file: Path | None = None,
    *,
    growth: int = GROWTH_BYTES,
    progress: Callable[[int], object] = lambda _: None,
) -> RewindHistory:
    """The rewind history of a log, including abandoned branches. `file` is where it is cached.

    The cache is rewritten when more than `growth` bytes were read. Raises `LogUnreadable`, OSError.
    """
    index = _kept(file, log) or RewindIndex(position=LogPosition(), fold=RewindFold())
    fold, position, reported = index.fold, index.position, index.position.offset
    for grown in records_since(log, position):
        fold.take(grown.record)
        position = grown.position
        if position.offset - reported >= PROGRESS_BYTES:
            reported = position.offset
            progress(reported)
    progress(position.offset)
    if file is not None and position.offset - index.position.offset >= growth:
        write_derived(file, log, FORMAT, msgspec.json.encode(RewindIndex(position=position, fold=fold)))
    return fold.history()


def _kept(file: Path | None, log: Path) -> RewindIndex | None:
    body = None if file is None else read_derived(file, FORMAT)
    if body is None:
        return None
    try:
        index = msgspec.json.decode(body, type=RewindIndex)
        return index if continues(log, index.position) else None
    except (msgspec.DecodeError, UnicodeDecodeError, LogUnreadable):
        return None

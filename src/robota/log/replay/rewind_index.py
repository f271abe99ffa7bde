"""Caches the rewind history of a log, so that only new records are read."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import LogPosition, records_since
from robota.log.derived_file import DerivedFile
from robota.log.replay.rewind_points import RewindFold, RewindHistory

GROWTH_BYTES: Final = 2 * 1024 * 1024
PROGRESS_BYTES: Final = 1024 * 1024


class RewindIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The rewind history of the log up to a position."""

    position: LogPosition
    fold: RewindFold


REWIND_INDEX: Final = DerivedFile("rewind 2", RewindIndex)


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
    index = None if file is None else REWIND_INDEX.read(file, log)
    index = index or RewindIndex(position=LogPosition(), fold=RewindFold())
    fold, position, reported = index.fold, index.position, index.position.offset
    for grown in records_since(log, position):
        fold.take(grown.record)
        position = grown.position
        if position.offset - reported >= PROGRESS_BYTES:
            reported = position.offset
            progress(reported)
    progress(position.offset)
    if file is not None and position.offset - index.position.offset >= growth:
        REWIND_INDEX.write(file, log, RewindIndex(position=position, fold=fold))
    return fold.history()

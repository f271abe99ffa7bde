"""Builds the rewinder of a stored session, which no process has open, for `robota rewind`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from robota.app.rewinding.checkpoints import checkpoint_store, has_checkpoints
from robota.config.paths import user_directory
from robota.config.settings.schema import CheckpointSettings
from robota.contracts.rewind import RewindService


@contextmanager
def stored_rewinder(
    settings: CheckpointSettings,
    root: Path,
    env: Mapping[str, str],
    directory: Path,
    *,
    is_written: bool,
    progress: Callable[[int], object],
) -> Iterator[RewindService]:
    """The rewinder of a stored session. With `is_written`, the session is locked against other processes.

    `progress` gets the number of bytes read of a long log. Raises `LogError`.
    """
    from robota.engine.rewind.rewinder import Rewinder
    from robota.log.chain.reader import LOG_NAME
    from robota.log.reopening import open_to_add
    from robota.log.snapshot_keeper import rewind_index_path

    is_on = has_checkpoints(settings, root, env)
    open_store = (lambda: checkpoint_store(settings, root, env)) if is_on else None
    index = rewind_index_path(user_directory(env), directory)
    if not is_written:
        yield Rewinder(directory / LOG_NAME, None, open_store, index=index, progress=progress)
        return
    log = open_to_add(directory, user_directory(env), progress=progress)
    try:
        yield Rewinder(log.path, log, open_store, index=index, progress=progress)
    finally:
        log.close()

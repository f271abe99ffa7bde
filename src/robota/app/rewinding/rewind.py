"""Builds the rewinder of a stored session, which no process has open, for `robota rewind`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
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
    """The rewinder of a stored session, locked if `is_written`; `progress` gets the bytes read. Raises `LogError`."""
    from robota.engine.rewind.rewinder import Rewinder
    from robota.log.chain.reader import LOG_NAME
    from robota.log.reopening import open_to_add
    from robota.log.snapshot_keeper import rewind_index_path
    from robota.workspace.git.ref_moves import RefMover

    open_store = partial(checkpoint_store, settings, root, env) if has_checkpoints(settings, root, env) else None
    index = rewind_index_path(user_directory(env), directory)
    refs = RefMover(root=root, env=env)
    with ExitStack() as closing:
        log = open_to_add(directory, user_directory(env), progress=progress) if is_written else None
        if log is not None:
            closing.callback(log.close)
        yield Rewinder(directory / LOG_NAME, log, open_store, refs=refs, index=index, progress=progress)

"""Going back in a session that nobody has open: its log and the checkpoints of its workspace, put together."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from robota.app.rewinding.checkpoints import checkpoint_store, has_checkpoints
from robota.config.paths import user_directory
from robota.config.settings.schema import CheckpointSettings
from robota.contracts.rewind import RewindService


@contextmanager
def stored_rewinder(
    settings: CheckpointSettings, root: Path, env: Mapping[str, str], directory: Path, *, is_written: bool
) -> Iterator[RewindService]:
    """What looks back in a session that nobody has open, or goes back: then no other process can open it meanwhile.

    Raises `LogError`.
    """
    from robota.engine.rewind.rewinder import Rewinder
    from robota.log.chain.head import head_path
    from robota.log.chain.reader import LOG_NAME
    from robota.log.chain.writer import SessionLog, wall_clock_ms

    is_on = has_checkpoints(settings, root, env)
    open_store = (lambda: checkpoint_store(settings, root, env)) if is_on else None
    if not is_written:
        yield Rewinder(directory / LOG_NAME, None, open_store)
        return
    head_file = head_path(user_directory(env), directory)
    log, _ = SessionLog.open(directory, wall_clock_ms, head_file=head_file)
    try:
        yield Rewinder(log.path, log, open_store)
    finally:
        log.close()

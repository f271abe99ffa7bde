"""Going back in a session: its log and the checkpoints of its workspace, put together."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from robota.app.checkpoints import checkpoint_store, has_checkpoints
from robota.config.paths import user_directory
from robota.config.settings.schema import CheckpointSettings
from robota.contracts.rewind import RewindService
from robota.engine.record.journal import LogPort


def session_rewinder(
    settings: CheckpointSettings, root: Path, env: Mapping[str, str], log: LogPort
) -> Callable[[], RewindService]:
    """What goes back in a session that is open, made when it is first needed."""

    def make() -> RewindService:
        from robota.engine.rewind.rewinder import Rewinder

        is_on = has_checkpoints(settings, root, env)
        return Rewinder(log.path, log, (lambda: checkpoint_store(settings, root, env)) if is_on else None)

    return make


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

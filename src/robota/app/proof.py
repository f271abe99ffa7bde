"""Finds the call that wrote a line, from the logs, checkpoints and edit index of a project."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from robota.agents.worktrees.directory import lies_in_worktree
from robota.app.rewinding.checkpoints import checkpoint_store, store_directory
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, settings_for
from robota.config.paths import user_directory
from robota.log.catalogue.places import project_places
from robota.log.derived_file import Notify
from robota.log.store import fallback_directory
from robota.proof.calls.story_fold import StoryFold
from robota.proof.edits.edit_index import INDEX, EditLog, brought_up_to_date
from robota.proof.edits.line_origins import LineOrigin, LineOrigins
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import OpenStore
from robota.workspace.git.git_directories import other_checkouts

CheckpointOpener = Callable[[str], AbstractContextManager[OpenStore] | None]


def origins_of_lines(
    root: Path, env: Mapping[str, str], path: str, data: bytes, wanted: Collection[int], notify: Notify
) -> dict[int, LineOrigin]:
    """The calls that wrote the wanted lines, counted from 0, of a file of the project.

    Sessions in other working trees of the repository are searched too, because their lines arrive with commits.
    """
    user = _user_directory(env)
    others = other_checkouts(root)

    def work(connection: sqlite3.Connection) -> dict[int, LineOrigin]:
        places = [place for each in (root, *others) for place in project_places(each, user)]
        opener = checkpoint_opener(root, env, others)
        logs = brought_up_to_date(connection, places, opener, notify)
        return LineOrigins(connection, logs, _file_reader(connection, opener)).of(path, data, wanted)

    index = None if user is None else fallback_directory(user, root) / INDEX.name
    return INDEX.use_at(index, work, notify)


def checkpoint_opener(root: Path, env: Mapping[str, str], others: Sequence[Path] = ()) -> CheckpointOpener:
    """A function that opens the checkpoints of the directory that a log names; None if there are none.

    Only the project itself, its worktrees and `others` are opened, whatever a log claims. No store is created.
    """

    def open_for(cwd: str) -> AbstractContextManager[OpenStore] | None:
        place = Path(cwd)
        is_ours = "\0" not in cwd and (place in (root, *others) or lies_in_worktree(place, root))
        if not is_ours or not store_directory(place, env).is_dir():
            return None
        return _open_store(root, place, env)

    return open_for


@contextmanager
def _open_store(root: Path, place: Path, env: Mapping[str, str]) -> Iterator[OpenStore]:
    settings = settings_for(LaunchOptions(cwd=root), root, env).values.checkpoints
    try:
        with checkpoint_store(settings, place, env).opened() as store:
            yield store
    except ConfigError as error:
        raise CheckpointError(str(error)) from error


def _file_reader(
    connection: sqlite3.Connection, open_for: CheckpointOpener
) -> Callable[[EditLog, str, str], bytes | None]:
    """A function that reads a file in a checkpoint of a session; None if it cannot be read."""

    def read_file_at(log: EditLog, checkpoint: str, path: str) -> bytes | None:
        row = connection.execute("SELECT fold FROM log WHERE id = ?", (log.id,)).fetchone()
        cwd = msgspec.msgpack.decode(row[0], type=StoryFold).cwd if row is not None else ""
        opening = open_for(cwd) if log.is_own else None
        if opening is None:
            return None
        try:
            with opening as store:
                return store.content_at(store.completed(checkpoint), path)
        except CheckpointError:
            return None

    return read_file_at


def _user_directory(env: Mapping[str, str]) -> Path | None:
    try:
        return user_directory(env)
    except ConfigError:
        return None

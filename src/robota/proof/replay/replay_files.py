"""The files of the replay workspace, and their comparison with the checkpoints of the recording."""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.contracts.workspace import Files
from robota.proof.replay.comparison import Divergence, difference
from robota.proof.replay.recording import RunCall
from robota.workspace.checkpoints.checkpoint_change import CheckpointFile
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore
from robota.workspace.problems import FileProblem

# The agent trace is written by the session itself, not by its calls.
NOT_COMPARED: Final = (".orchestration/",)
MAX_BYTES: Final = 20_000_000

FileStates = Mapping[str, CheckpointFile]


class ReplayFiles:
    """A `ReplayPlace`. `original` has the checkpoints of the recording, `scratch` those of the replay workspace."""

    def __init__(
        self,
        original: CheckpointStore,
        scratch: CheckpointStore,
        requests: Callable[[], int],
        cover: Callable[[bytes], bytes],
    ) -> None:
        """`requests` returns the number of replies so far; `cover` redacts secrets as the log does.

        `files` are set when the session is open.
        """
        self._original = original
        self._scratch = scratch
        self._requests = requests
        self._cover = cover
        self.files: Files | None = None
        self.found: list[Divergence] = []

    def before(self, call: RunCall) -> None:
        """See `ReplayPlace.before`."""
        if call.before:
            self._write_checkpoint(call.before, call.paths)
        for path in call.paths if self.files is not None else ():
            with suppress(FileProblem):
                assert self.files is not None
                self.files.note_read(self.files.read(path, MAX_BYTES))

    def hold_a_key(self, call: RunCall) -> bool:
        """See `ReplayPlace.hold_a_key`."""
        paths = (self._scratch.workspace / path for path in call.paths)
        contents = (path.read_bytes() for path in paths if path.is_file() and not path.is_symlink())
        return any(self._cover(content) != content for content in contents)

    def take_over(self, call: RunCall) -> None:
        """See `ReplayPlace.take_over`."""
        if call.before and call.after and call.before != call.after:
            self._write_checkpoint(call.after, call.paths)

    def compare(self, call: RunCall, *, everything: bool) -> None:
        """See `ReplayPlace.compare`."""
        if not call.after:
            return
        recorded, now = self._states(call.after), self._now(call.paths)
        paths = sorted({*recorded, *now}) if everything else sorted(call.paths)
        for path in paths:
            if recorded.get(path) != now.get(path) and not path.startswith(NOT_COMPARED):
                divergence = self._difference(call, path, recorded.get(path))
                if divergence is None:
                    continue
                self.found.append(msgspec.structs.replace(divergence, request=self._requests()))
                return

    def _difference(self, call: RunCall, path: str, recorded: CheckpointFile | None) -> Divergence | None:
        where = f"{path} after {call.call_id} ({call.tool})"
        file = self._scratch.workspace / path
        kinds = (_kind(recorded), _kind_of(file))
        if recorded is None or not file.is_file() or file.is_symlink() or recorded.is_link:
            return Divergence(kind="files", where=where, recorded=kinds[0], replayed=kinds[1])
        with self._original.opened() as store:
            then = store.contents([recorded.content]).get(recorded.content, b"")
        now = file.read_bytes()
        if then == now:
            return Divergence(kind="files", where=f"the mode of {where}", recorded=kinds[0], replayed=kinds[1])
        if self._cover(then) == self._cover(now):
            return None  # secrets are redacted in logs, and so in files written from recorded inputs
        return difference("files", where, then.decode("utf-8", "replace"), now.decode("utf-8", "replace"))

    def _write_checkpoint(self, checkpoint: str, named: tuple[str, ...]) -> None:
        """Write the files of a checkpoint that differ from those in the replay workspace."""
        recorded, now = self._states(checkpoint), self._now(named)
        other = {path: recorded.get(path) for path in {*recorded, *now} if recorded.get(path) != now.get(path)}
        with self._original.opened() as store:
            contents = store.contents(sorted({file.content for file in other.values() if file is not None}))
        for path, file in sorted(other.items(), key=lambda item: (item[1] is not None, item[0])):
            _write_file(self._scratch.workspace / path, file, contents)

    def _states(self, checkpoint: str) -> FileStates:
        with self._original.opened() as store:
            return store.files(store.completed(checkpoint))

    def _now(self, named: tuple[str, ...]) -> FileStates:
        with self._scratch.opened() as store:
            return store.files(store.capture(named).id)


def _write_file(path: Path, file: CheckpointFile | None, contents: Mapping[str, bytes]) -> None:
    """Write one file. No parent can be a symlink: in a checkpoint a path is either a link or a directory."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if file is None:
        return
    if file.content not in contents:
        raise CheckpointError(f"The content of {path.name} is not in the store: it was pruned")
    path.parent.mkdir(parents=True, exist_ok=True)
    if file.is_link:
        path.symlink_to(os.fsdecode(contents[file.content]))
        return
    path.write_bytes(contents[file.content])
    path.chmod(0o755 if file.is_executable else 0o644)


def _kind(file: CheckpointFile | None) -> str:
    if file is None:
        return "no file"
    return "a link" if file.is_link else "a program" if file.is_executable else "a file"


def _kind_of(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    if not path.is_file():
        return "no file"
    return "a program" if os.access(path, os.X_OK) else "a file"

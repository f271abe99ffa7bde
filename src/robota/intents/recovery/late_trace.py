"""Traces what calls changed that were cut off: their process was killed, or the user stopped them.

Such a call has started according to the session log, but the log does not say that its changes are in the trace. What
it changed is the difference between the checkpoints before and after it. If there is none after it, the workspace is
saved first: from then on the changes of the call are fixed, however often and by whomever they are traced.
"""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Final

import msgspec

from robota.intents.intent import IntentProblem
from robota.intents.intent_files import DIRECTORY, IntentFiles
from robota.intents.mutation_class import ShapeOf, classify
from robota.intents.recovery.traced_calls import TraceBeginRecord, TraceEndRecord, UntracedCall, read_traced_log
from robota.intents.trace_file import TraceFile, TraceProblem, trace_lines
from robota.intents.trace_record import TracedChange, TraceOrigin, changed_between, content_hash, decoded, ours_of
from robota.log.chain.writer import SessionLog
from robota.log.errors import LogError
from robota.log.kinds.calls import CheckpointRecord
from robota.text.visible import as_utf8
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore, OpenStore
from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import FileProblem, Missing, NotADirectory, NotARegularFile

MAX_HASHED_BYTES: Final = 64 * 1024 * 1024


class LateTrace:
    """Traces the cut-off calls of one session. Its log is open for writing, so no other process does the same."""

    def __init__(
        self, files: IntentFiles, log: SessionLog, trace: TraceFile, store: CheckpointStore | None, shape_of: ShapeOf
    ) -> None:
        """`store` is None where there are no checkpoints."""
        self._files = files
        self._log = log
        self._trace = trace
        self._store = store
        self._shape_of = shape_of
        self._session_id = log.path.parent.name

    def catch_up(self) -> bool:
        """Trace what is missing. Returns whether nothing is missing now."""
        self._save_workspace()
        return all([self._is_traced(call) for call in read_traced_log(self._log.path).untraced])

    def _save_workspace(self) -> None:
        """Save a checkpoint if there is none after the last call. If that fails, the trace does without it."""
        traced_log = read_traced_log(self._log.path)
        if self._store is None or traced_log.last_checkpoint is None or traced_log.last_checkpoint.call_id is None:
            return
        named = {path for call in traced_log.untraced for path in call.begin.before}
        with suppress(CheckpointError, LogError, OSError):
            saved = self._store.capture(named)
            self._log.append(CheckpointRecord(task_id=traced_log.last_checkpoint.task_id, checkpoint=saved.id))

    def _is_traced(self, call: UntracedCall) -> bool:
        """Trace the changes of a call that are not in the trace yet. Returns False if that is not possible now."""
        try:
            changes = self._changes(call)
            traced = set(self._traced_paths(call.begin.call_id)) if changes else set()
            for path, change in changes.items():
                if change.path not in traced:
                    self._trace.append(change, self._origin(call.begin, path))
            self._log.append(TraceEndRecord(call_id=call.begin.call_id))
        except (TraceProblem, CheckpointError, LogError, OSError):
            return False
        return True

    def _traced_paths(self, call_id: str) -> Iterator[str]:
        """The files whose change by the call is in the trace."""
        with suppress(FileNotFoundError):
            for line in trace_lines(self._files.home):
                record = decoded(line) or {}
                ours = ours_of(record)
                if (ours.get("session_id"), ours.get("tool_use_id")) == (self._session_id, call_id):
                    yield from (file["path"] for file in record["files"])

    def _changes(self, call: UntracedCall) -> dict[str, TracedChange]:
        """The changes by path from the top: from the checkpoints, and of named files that are in none, by hash."""
        named = {self._from_top(path): path for path in call.begin.before}
        if self._store is None or call.checkpoint_before is None or call.checkpoint_after is None:
            return dict(self._compared_by_hash(call.begin, named))
        with self._store.opened() as store:
            before, after = store.completed(call.checkpoint_before), store.completed(call.checkpoint_after)
            changes = dict(self._saved_changes(call.begin, before, after, store))
            if call.begin.is_opaque:
                return changes
            unsaved = {path: name for path, name in named.items() if not self._is_saved(path, (before, after), store)}
        own = {path: change for path, change in changes.items() if path in named}
        return {**dict(self._compared_by_hash(call.begin, unsaved)), **own}

    def _saved_changes(
        self, begin: TraceBeginRecord, before: str, after: str, store: OpenStore
    ) -> Iterator[tuple[str, TracedChange]]:
        for saved in store.changes(before, after):
            if saved.path.startswith(f"{DIRECTORY}/"):
                continue
            path, old, new = f"{self._files.start}{saved.path}", store.content(saved.before), store.content(saved.after)
            change = changed_between(path, old, new)
            if change is not None:
                kind = classify(path, old, new, begin.declared, self._shape_of)
                yield path, msgspec.structs.replace(change, kind=kind)

    def _is_saved(self, path: str, checkpoints: tuple[str, str], store: OpenStore) -> bool:
        start = self._files.start
        if not path.startswith(start):
            return False
        return any(store.content_at(checkpoint, path.removeprefix(start)) is not None for checkpoint in checkpoints)

    def _compared_by_hash(self, begin: TraceBeginRecord, named: dict[str, str]) -> Iterator[tuple[str, TracedChange]]:
        """The changes of files of which only the hash is known, so not which lines changed."""
        with closing(LocalFiles(self._files.root)) as workspace:
            for path, name in named.items():
                try:
                    new = content_hash(workspace.read(name, MAX_HASHED_BYTES).data)
                except (Missing, NotADirectory, NotARegularFile):
                    new = None
                except FileProblem:
                    continue  # leads out of the workspace by now, or is too large: nothing is known about it
                old = begin.before[name]
                if old != new:
                    yield path, TracedChange(path=as_utf8(path), before_hash=old, after_hash=new)

    def _from_top(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(self._files.root / path), os.path.realpath(self._files.top))

    def _origin(self, begin: TraceBeginRecord, path: str) -> TraceOrigin:
        try:
            intent = self._files.intent(begin.intent_id)
        except (IntentProblem, OSError):
            intent = None
        return TraceOrigin(
            session_id=self._session_id,
            log_url=self._log.path.as_uri(),
            model=begin.model,
            call_id=begin.call_id,
            tool=begin.tool,
            intent_id=begin.intent_id,
            approval=begin.approval,
            is_in_scope=intent is not None and intent.scope.covers(path),
            revision=begin.revision,
            is_found_later=True,
        )

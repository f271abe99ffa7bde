"""Commands that nobody approves: the proof that they are confined, and what they must not leave behind.

The proof is gathered before such a command; afterwards, what other programs obey and it created or changed is taken
out of the workspace, and the user decides whether to keep it.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.contracts.confinement import ConfinementService
from robota.contracts.tool import AnyTool, ToolCall, Touches
from robota.engine.calls.unseen_in_git import UnseenInGit
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.asks.answer import Approve
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict, FilesLeftBehind
from robota.protocol.events import Notice
from robota.protocol.unified_diff import files_in
from robota.protocol.views import DiffsView, TextView, View
from robota.text.counted import counted
from robota.text.visible import single_line, visible
from robota.workspace.checkpoints.checkpoint_change import CheckpointChange
from robota.workspace.checkpoints.held_back import ChangedFiles, HeldBack
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.confinement import (
    Confined,
    Confinement,
    ConfinementFacts,
    NotConfined,
    confinement,
    obstacle,
)
from robota.workspace.git.writing_commands import writes_git_data
from robota.workspace.steering_files import new_or_changed, newly_compiled

if TYPE_CHECKING:
    from robota.engine.calls.admission import Admitted

NAMES_SHOWN: Final = 5
DIFF_CHARACTERS: Final = 200_000
TURN_PAUSE_S: Final = 0.1
PATH_SHOWN: Final = 200
KINDS: Final = {"added": " (new)", "deleted": " (deleted)", "modified": ""}
HELD_BACK: Final = "The command {} files that other programs run or load, without approval: {}."
KEEP: Final = "Keep {}?"
NO_RULE: Final = "files that other programs run or load are asked about every time"
# Lines in the head of a file's changes that say more than its hunks do.
NOT_IN_HUNKS: Final = r"^(?:old mode|new mode|rename |copy |Binary files |GIT binary|new file mode (?!100644))"
SHARED_GIT_DATA: Final = (
    "It cannot run unasked: it changes git's data, which this worktree shares with the repository, and which could not "
    "be brought back."
)
UNDONE_BY_NOTHING: Final = "New, ignored and too large or too many to be saved, so that undoing leaves them: {}."
NOT_SEARCHED: Final = (
    "After the command the workspace could not be searched for new files that other programs run or load: {}. {}"
)
LOOK: Final = "Look at what it changed before you start other programs there."
OUT_OF_THE_WAY: Final = "So what could not be searched is renamed: {}."
NOT_TAKEN_OUT: Final = (
    "They could not be taken out of the workspace: {}. Look at them before you start other programs there."
)
NOT_BROUGHT_BACK: Final = (
    "What {} contained before the command could not be written back. It is in the checkpoint: make room on the disk, "
    "and rewind the files."
)


class TakenOut(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken out of the workspace after a command, in words too, and what went wrong."""

    held: HeldBack | None = None
    what: str = ""
    warnings: tuple[str, ...] = ()


class Settled:
    """What was taken out after a command, once that is done: None if nothing was.

    `in_git` says what was taken back of git's data.
    """

    def __init__(self) -> None:
        self.held: HeldBack | None = None
        self.what = ""
        self.in_git = ""


class UnapprovedCommands:
    """The commands of a task that run because they are confined."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._runtime = runtime

    async def turn(self, tool: AnyTool, touches: Touches) -> FileIO | None:
        """Wait until no other such command runs or is searched after; None where there can be no proof anyway.

        What another one has planted must not count as the state before this one. The turn of a command that does not
        run is over when nothing refers to the lock any more, which closes it.
        """
        service = self._runtime.services.confinement
        if service is None or not tool.confines or touches.command is None:
            return None
        try:
            while (turn := await asyncio.to_thread(service.take_turn)) is None:  # noqa: ASYNC110 - of another process
                await asyncio.sleep(TURN_PAUSE_S)
        except CheckpointError:
            return None  # nor can a checkpoint be saved
        return turn

    async def proof(self, tool: AnyTool, call: ToolCall, touches: Touches) -> Confinement:
        """The proof that the command is confined and can be undone, or what is missing."""
        service, checkpoint = self._runtime.services.confinement, self._runtime.services.checkpoint
        if service is None or not tool.confines or touches.command is None:
            return NotConfined("It cannot run unasked: nothing is known about its confinement.")
        facts = await asyncio.to_thread(service.facts)
        if (problem := obstacle(facts)) is not None or checkpoint is None:
            return NotConfined(f"It cannot run unasked: {problem or 'there are no checkpoints here'}.")
        if writes_git_data(touches.command) and await asyncio.to_thread(service.shares_git_data):
            return NotConfined(SHARED_GIT_DATA)
        saved = await checkpoint.save_before(tool, call, self._runtime.task_id, self._runtime.warn)
        if saved is not None:
            facts = msgspec.structs.replace(facts, checkpoint=saved.checkpoint, unsaved=saved.unsaved)
        return confinement(await asyncio.to_thread(_with_facts_of_now, service, facts))

    def not_asked_for(self) -> Confinement:
        """Instead of a proof, for a command that failed because it was confined."""
        return NotConfined("Running it like this needs approval.")

    def proven(self, proof: Confinement) -> Confined:
        """The proof that policy allowed a command by. Without one, nobody allowed it."""
        if not isinstance(proof, Confined):
            raise TypeError("nothing proves that the command is confined, and nobody approved it")
        return proof

    @asynccontextmanager
    async def settling(self, confined: Confined, admitted: "Admitted") -> AsyncIterator["Settled"]:
        """Around a command: whatever ends it, what it must not leave behind is taken out, and nothing cancels that.

        Then its turn is over.
        """
        settled, is_ended = Settled(), False
        in_git = UnseenInGit(self._runtime, admitted.tool, admitted.call)
        await in_git.note()
        try:
            yield settled
            is_ended = True
        finally:
            is_cancelled = await _until_done(asyncio.create_task(self._take_out(confined, settled, in_git)))
            if admitted.context.turn is not None:
                admitted.context.turn.close()
            if settled.held is not None and (is_cancelled or not is_ended):
                self._runtime.warn(self._removed(settled.held, settled.what))
            if is_cancelled:
                raise asyncio.CancelledError

    async def decide(self, confined: Confined, call: ToolCall, settled: "Settled") -> str:
        """Ask whether to keep what was taken out. Returns what the model must know, or an empty text."""
        service = self._runtime.services.confinement
        assert service is not None, "there is no proof without it"
        if settled.held is None:
            return settled.in_git
        try:
            kept = await self._keep_or_remove(service, call, settled.held, settled.what)
            return f"{kept} {settled.in_git}".rstrip()
        except asyncio.CancelledError:
            self._runtime.warn(self._removed(settled.held, settled.what))
            raise

    async def _take_out(self, confined: Confined, settled: "Settled", in_git: UnseenInGit) -> None:
        service = self._runtime.services.confinement
        assert service is not None, "there is no proof without it"
        # All in one thread, which ends its work also when the event loop is being closed.
        done = await asyncio.to_thread(_take_out_now, service, confined)
        for warning in done.warnings:
            self._runtime.warn(warning)
        if done.held is not None and done.held.paths:
            settled.held, settled.what = done.held, done.what
        settled.in_git = await in_git.take_back()

    async def _keep_or_remove(self, service: ConfinementService, call: ToolCall, held: HeldBack, what: str) -> str:
        if not self._runtime.options.launch.attended:
            message = self._removed(held, what)
            self._runtime.warn(message)
            return message
        if not await self._wants(held, call, what):
            return f"{what} The user did not keep them, so they were taken out again. Continue without them."
        try:
            await asyncio.to_thread(service.put_back, held)
        except CheckpointError as error:
            return f"{what} The user wanted to keep them, but they could not be put back: {error}."
        return f"{what} The user kept them."

    def _removed(self, held: HeldBack, what: str) -> str:
        kept = self._runtime.journal.keep(held.diff) if held.diff else None
        removed = f" They were removed from the workspace{'' if kept is None else f'; their text is output {kept}'}."
        names = [str(Path(path).with_name(name)) for path, name in held.renamed.items()]
        renamed = f" Renamed, because checkpoints do not contain it: {_names(names)}." if names else ""
        return f"{what}{removed if held.files else ''}{renamed}"

    async def _wants(self, held: HeldBack, call: ToolCall, what: str) -> bool:
        """Ask whether to keep what was taken out."""
        reason = f"{what} They are out of the workspace until you decide."
        asked = ApprovalAsk(
            title=KEEP.format(_names(held.paths)).removesuffix("?"),
            subject=FilesLeftBehind(paths=held.paths),
            view=self._shown(held),
            verdict=ApprovalVerdict(reason=reason, rule="held back", no_rule=NO_RULE),
        )
        return isinstance(await self._runtime.ask(asked, call_id=call.id), Approve)

    def _shown(self, held: HeldBack) -> View:
        """What was taken out: as changes of files where these say all of it, else as text."""
        diff = held.diff.decode("utf-8", "replace")
        if not held.renamed and len(diff) <= DIFF_CHARACTERS and not re.search(NOT_IN_HUNKS, diff, re.MULTILINE):
            return DiffsView(files=files_in(diff))
        listed = (f"{single_line(path, PATH_SHOWN)} (with all that is in it)" for path in held.renamed)
        return TextView(text="\n".join(part for part in (self._shown_diff(held.diff), *listed) if part))

    def _shown_diff(self, diff: bytes) -> str:
        """All of it: what is not shown is not approved. If it is too long for that, where it can be read."""
        text = visible(diff.decode("utf-8", "replace"))
        if len(text) <= DIFF_CHARACTERS:
            return text
        name = self._runtime.journal.keep(diff)
        where = "" if name is None else f" All of it is in {self._runtime.journal.kept(name)}."
        return f"{text[:DIFF_CHARACTERS]}\n[{len(text) - DIFF_CHARACTERS:,} more characters are not shown.{where}]"

    async def changes(self, confined: Confined, call: ToolCall) -> Notice | None:
        """What the command changed, with the call to undo; None if nothing, or if it is unknown, with a warning."""
        service = self._runtime.services.confinement
        assert service is not None, "there is no proof without it"
        try:
            changes = await asyncio.to_thread(service.changed_since, confined.checkpoint)
        except CheckpointError as error:
            self._runtime.warn(f"What the command changed is unknown: {error}.")
            return None
        if not changes.files and not changes.unsaved:
            return None
        return Notice(level="info", text=_changed(changes), undo_call=call.id)

    async def changes_so_far(self, confined: Confined) -> str:
        """What a command has changed before it failed, as a sentence."""
        service = self._runtime.services.confinement
        assert service is not None, "there is no proof without it"
        try:
            changes = await asyncio.to_thread(service.changed_since, confined.checkpoint)
        except CheckpointError:
            return ""
        if not changes.files and not changes.unsaved:
            return "No file that checkpoints contain has changed."
        return _changed(changes)


def _with_facts_of_now(service: ConfinementService, facts: ConfinementFacts) -> ConfinementFacts:
    return msgspec.structs.replace(
        facts,
        survey=service.survey(),
        notes_refs=service.notes_refs(),
        shows_kept_files=service.shows_kept_files(),
    )


def _take_out_now(service: ConfinementService, confined: Confined) -> "TakenOut":
    after = service.survey(confined.survey)
    warnings: list[str] = []
    if after.problem:
        what_now = OUT_OF_THE_WAY.format(_names(after.unsearched)) if after.unsearched else LOOK
        warnings.append(NOT_SEARCHED.format(after.problem, what_now))
    compiled = newly_compiled(confined.survey, after)
    if kept := service.remove_compiled(compiled) if compiled else []:
        warnings.append(f"{_what(confined, kept)} {NOT_TAKEN_OUT.format('it cannot be removed')}")
    paths = new_or_changed(confined.survey, after)
    if not paths:
        return TakenOut(warnings=tuple(warnings))
    try:
        held = service.hold_back(confined.checkpoint, paths)
    except CheckpointError as error:
        return TakenOut(warnings=(*warnings, f"{_what(confined, paths)} {NOT_TAKEN_OUT.format(error)}"))
    if held.left:
        reason = f"{_names(held.left)} cannot be renamed"
        warnings.append(f"{_what(confined, held.left)} {NOT_TAKEN_OUT.format(reason)}")
    if held.missing:
        warnings.append(NOT_BROUGHT_BACK.format(_names(held.missing)))
    return TakenOut(held=held, what=_what(confined, paths), warnings=tuple(warnings))


async def _until_done(task: asyncio.Task[None]) -> bool:
    """Wait for a task that must not be cancelled; returns whether the caller was, meanwhile."""
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            is_cancelled = True
    task.result()
    return is_cancelled


def _what(confined: Confined, paths: Sequence[str]) -> str:
    is_new = all(path not in confined.survey.steering for path in paths)
    return HELD_BACK.format("created" if is_new else "created or changed", _names(paths))


def _changed(changes: ChangedFiles) -> str:
    """What changed, as a sentence, and what cannot be undone, because it is too much to be saved."""
    files = f"Changed {counted(len(changes.files), 'file')}: {_changed_files(changes.files)}." if changes.files else ""
    unsaved = UNDONE_BY_NOTHING.format(_names(changes.unsaved)) if changes.unsaved else ""
    return " ".join(part for part in (files, unsaved) if part)


def _changed_files(changes: Sequence[CheckpointChange]) -> str:
    """The files by name, the deleted ones first: they must not be among those that are only counted."""
    ordered = sorted(changes, key=lambda change: change.kind != "deleted")
    return _name_list([f"{single_line(each.path, PATH_SHOWN)}{KINDS[each.kind]}" for each in ordered])


def _names(paths: Sequence[str]) -> str:
    return _name_list([single_line(path, PATH_SHOWN) for path in paths])


def _name_list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN} more"

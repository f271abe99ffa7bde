"""Saves a checkpoint of the workspace before calls that can change it, and after the last change of a request.

What a command moves in git (branches, tags, stash, HEAD) is noted, too, so that a rewind can move it back. A call waits
for its checkpoint at most `PATIENCE_S`; each problem is reported once. A call that was allowed because it can be undone
is refused without one; others run all the same.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from io import FileIO
from typing import TYPE_CHECKING, Final

from robota.contracts.hook import SavedBefore
from robota.contracts.tool import AnyTool, BadArguments, ToolCall
from robota.engine.record.journal import LogPort
from robota.log.errors import LogError
from robota.log.kinds.calls import CheckpointRecord

if TYPE_CHECKING:
    from robota.engine.runtime.task_runtime import TaskRuntime
    from robota.workspace.checkpoints.scan import NotCaptured
    from robota.workspace.checkpoints.store import Captured

PATIENCE_S: Final = 20.0
TOO_SLOW: Final = (
    f"A checkpoint takes more than {PATIENCE_S:.0f} seconds. Until one is saved, changes cannot be undone with rewind."
)
MAX_NAMES: Final = 500
NAMES_SHOWN: Final = 3


# Saves the workspace. The given paths, and those named in the given commands, are saved even if ignore rules exclude
# them; with the last argument, so is everything else that is ignored and cannot be computed again.
Capture = Callable[[Sequence[str], Sequence[str], bool], "Captured"]
# Locks out restores until the returned file is closed. Blocks while a restore runs.
AtWork = Callable[[], FileIO | None]


class CallCheckpoints:
    """The checkpoints of a session. `open_capture` is called before the first change, so reading costs nothing."""

    def __init__(self, log: LogPort, open_capture: Callable[[], Capture], at_work: AtWork) -> None:
        self._log = log
        self._at_work = at_work
        self._work: FileIO | None = None
        self._changing = 0  # how many calls are running that may change something, of all tasks
        self._open_capture = open_capture
        self._capture: Capture | None = None
        self._running: asyncio.Future[Captured] | None = None
        self._paths: dict[str, None] = {}
        self._commands: dict[str, None] = {}
        self._warned: set[str] = set()
        self._has_changes = False
        self._includes_ignored = False  # from the first command on: only commands change what they do not name
        self._unsaved: frozenset[str] | None = None  # what is ignored and not saved, once that is known
        self._just_saved: set[str] = set()  # calls that have their checkpoint before they begin
        # The checkpoint before each call, by call id.
        self.before_calls: dict[str, str] = {}

    @asynccontextmanager
    async def around_change(
        self, tool: AnyTool, call: ToolCall, task_id: str, tell: Callable[[str], None]
    ) -> AsyncIterator[bool]:
        """Save a checkpoint, and lock out restores while the call runs. Yields whether it was saved."""
        self._has_changes = True
        self._changing += 1
        self._remember_names(tool, call)
        try:
            if call.id in self._just_saved:
                self._just_saved.discard(call.id)
                await asyncio.to_thread(self._lock_out_restores)
                yield True
            else:
                yield await self._save(task_id, call, tell) is not None
        finally:
            self._changing -= 1
            if self._work is not None and not self._changing:
                self._work.close()
                self._work = None

    async def save_before(
        self, tool: AnyTool, call: ToolCall, task_id: str, tell: Callable[[str], None]
    ) -> SavedBefore | None:
        """Save a checkpoint for a call that runs only if everything can be undone; None if that is not possible."""
        self._remember_names(tool, call)
        saved = await self._save(task_id, call, tell)
        if saved is None or self._unsaved is None:
            return None
        self._just_saved.add(call.id)
        missing = self._unsaved.union(each.path for each in saved.details.not_captured)
        return SavedBefore(checkpoint=saved.id, unsaved=tuple(sorted(missing)))

    async def after_changes(self, task_id: str, tell: Callable[[str], None]) -> None:
        """Save a checkpoint if calls changed something since the last one."""
        if self._has_changes:
            self._has_changes = False
            await self._save(task_id, None, tell)

    async def _save(self, task_id: str, call: ToolCall | None, tell: Callable[[str], None]) -> "Captured | None":
        try:
            async with asyncio.timeout(PATIENCE_S):
                while self._running is not None and not self._running.done():
                    with suppress(Exception):
                        await asyncio.shield(self._running)
                self._running = _in_thread(self._captured)
                saved = await asyncio.shield(self._running)
        except TimeoutError:
            self._warn_once(tell, TOO_SLOW)
            return None
        except Exception as error:  # noqa: BLE001 - a call must not fail because it cannot be taken back
            self._warn_once(tell, f"No checkpoint was saved, so changes cannot be undone: {error}.")
            return None
        if call is not None:
            self.before_calls[call.id] = saved.id
        with suppress(LogError):
            self._log.append(
                CheckpointRecord(
                    task_id=task_id,
                    checkpoint=saved.id,
                    call_id=None if call is None else call.id,
                    tool=None if call is None else call.name,
                    not_captured=len(saved.details.not_captured),
                )
            )
        self._warn_uncaptured(saved.details.not_captured, tell)
        return saved

    def _captured(self) -> "Captured":
        self._lock_out_restores()
        if self._capture is None:
            self._capture = self._open_capture()
        with_ignored = self._includes_ignored and self._unsaved is None
        saved = self._capture(tuple(self._paths), tuple(self._commands), with_ignored)
        if with_ignored:
            self._unsaved = frozenset(saved.unsaved)
        return saved

    def _lock_out_restores(self) -> None:
        work = self._at_work() if self._changing and self._work is None else None
        if work is not None and self._changing:
            self._work = work
        elif work is not None:  # a restore took so long that the call has ended meanwhile
            work.close()

    def _remember_names(self, tool: AnyTool, call: ToolCall) -> None:
        """Include the paths of this call in all later checkpoints, so that what it creates is saved too."""
        try:
            touches = tool.touches(tool.decode(call.input))
        except BadArguments:
            return
        self._includes_ignored = self._includes_ignored or touches.command is not None
        if len(self._paths) + len(self._commands) < MAX_NAMES:
            self._paths.update(dict.fromkeys(touches.paths))
            self._commands.update({} if touches.command is None else {touches.command: None})

    def _warn_uncaptured(self, paths: "tuple[NotCaptured, ...]", tell: Callable[[str], None]) -> None:
        news = [each for each in paths if each.path not in self._warned]
        self._warned.update(each.path for each in news)
        if news:
            shown = ", ".join(f"{each.path} ({each.reason})" for each in news[:NAMES_SHOWN])
            more = f" and {len(news) - NAMES_SHOWN} more" if len(news) > NAMES_SHOWN else ""
            tell(f"Not in the checkpoints of this session: {shown}{more}.")

    def _warn_once(self, tell: Callable[[str], None], message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            tell(message)


def _in_thread(work: "Callable[[], Captured]") -> "asyncio.Future[Captured]":
    """Run `work` in a daemon thread, which does not keep the process alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Captured] = loop.create_future()

    def run() -> None:
        try:
            saved = work()
        except Exception as error:  # noqa: BLE001 - it is raised where it is awaited
            tell(future.set_exception, error)
        else:
            tell(future.set_result, saved)

    def tell(settle: Callable[..., None], value: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(lambda: None if future.done() else settle(value))

    threading.Thread(target=run, name="checkpoint", daemon=True).start()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


@contextmanager
def noted_git_moves(runtime: "TaskRuntime", tool: AnyTool, call: ToolCall) -> Iterator[None]:
    """Note what a call moves in git, by comparing the names before and after it. The call itself is not affected."""
    if not _may_move_names(runtime, tool, call):
        yield
        return
    # Imported with the first command that uses git.
    from robota.log.kinds.rewinds import RefMovesRecord
    from robota.workspace.git.ref_moves import UnreadableNames, read_git_names, ref_moves

    root = runtime.options.cwd
    try:
        before = read_git_names(root)
    except UnreadableNames:
        before = None
    try:
        yield
    finally:
        with suppress(UnreadableNames):
            after = None if before is None else read_git_names(root)
            if before is not None and after is not None and (moves := ref_moves(before, after)):
                runtime.journal.write(RefMovesRecord(task_id=runtime.task_id, call_id=call.id, moves=moves))


def _may_move_names(runtime: "TaskRuntime", tool: AnyTool, call: ToolCall) -> bool:
    """Whether the call is a command that can write git's data: in bubblewrap only git itself can, elsewhere any."""
    try:
        command = tool.touches(tool.decode(call.input)).command
    except BadArguments:
        return False
    return command is not None and ("git" in command or not runtime.services.reach.now.is_sandboxed)

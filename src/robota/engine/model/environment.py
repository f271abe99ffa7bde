"""The environment details of a task: sent to the model once, then only changes, so that older turns stay the same."""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.config.paths import repository_top
from robota.config.settings.schema import EnvironmentSettings
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.text.visible import printable_name, single_line
from robota.workspace.problems import FileProblem

if TYPE_CHECKING:
    from robota.workspace.process.background import BackgroundProcess

ENVIRONMENT_BEGIN: Final = "<environment_details>"
ENVIRONMENT_END: Final = "</environment_details>"
# Seconds after which the time is sent again.
TIME_STEP_S: Final = 600
FILES_NAMED: Final = 50
# Not listed among the files of a project.
HIDDEN_DIRECTORIES: Final = (".robota/", ".git/")
MODIFIED: Final = "Changed since you last read or wrote them. Read them again before you rely on them:"
MAX_NAME_LENGTH: Final = 500
MAX_HEAD_BYTES: Final = 4096
_ELEMENT: Final = re.compile(r"<(?=\s*/?\s*(?:environment_details|system-reminder)\b)", re.IGNORECASE)

Section = tuple[str, str]


class Environment:
    """Remembers which environment details the model of one task was sent."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._runtime = runtime
        self._sent: dict[str, str] = {}
        self._sent_time_s: float | None = None
        self._known_changes: Mapping[str, tuple[int, ...]] = {}
        self._reductions: Sequence[str] = ()
        self._has_begun = False

    async def changes(self) -> str:
        """The details that changed since the last time, as a text for the next turn; empty if nothing changed."""
        options = self._runtime.options.settings.environment
        if not options.enabled:
            return ""
        is_first_turn = self._runtime.history.recorded == 0
        if not is_first_turn and not self._has_begun:
            # In a resumed task, the resumption note already lists the changed files.
            self._known_changes = self._runtime.services.files.changed_by_others()
        self._has_begun = True
        if (reductions := tuple(self._runtime.history.undoable)) != self._reductions:
            # Details that were sent before may have been removed with their turns.
            self._reductions = reductions
            self._sent.clear()
        sections = [*self._changed_files(), *self._changed_sections(await self._state(options)), *self._time(options)]
        if is_first_turn and options.workspace_files:
            sections += await self._workspace_files(options.workspace_files)
        if not sections:
            return ""
        text = "\n\n".join(f"# {title}\n{without_own_elements(content)}" for title, content in sections)
        return f"{ENVIRONMENT_BEGIN}\n{text}\n{ENVIRONMENT_END}"

    async def _state(self, options: EnvironmentSettings) -> dict[str, str]:
        """The present details by heading; an empty one is sent only if it was not empty before."""
        runtime = self._runtime
        cost = runtime.meter.cost
        return {
            "Background Processes": "\n".join(map(_process_line, runtime.services.processes.background)),
            "Further Directories (Read-Only)": "\n".join(
                printable_name(str(directory)) for directory in runtime.services.files.added()
            ),
            "Git Branch": _branch(runtime.options.cwd),
            "Git Status": await _git_status(runtime.options.cwd, options.git_status_files),
            "Current Cost": f"${cost:.4f}" if options.cost and cost else "",
        }

    def _changed_sections(self, state: Mapping[str, str]) -> Iterator[Section]:
        for title, content in state.items():
            if content != self._sent.get(title, ""):
                self._sent[title] = content
                yield title, content or "(nothing any more)"

    def _time(self, options: EnvironmentSettings) -> Iterator[Section]:
        now_s = self._runtime.journal.next_ts() / 1000
        if options.time and (self._sent_time_s is None or now_s - self._sent_time_s >= TIME_STEP_S):
            self._sent_time_s = now_s
            local = datetime.fromtimestamp(now_s).astimezone()
            yield "Current Time", f"{local.isoformat(timespec='seconds')} ({local.tzname()})"

    def _changed_files(self) -> Iterator[Section]:
        """Files that were changed by others, each change once."""
        changed = self._runtime.services.files.changed_by_others()
        new = [path for path, stamp in changed.items() if self._known_changes.get(path) != stamp]
        self._known_changes = changed
        if new:
            listed = [f"{printable_name(path)}{'' if changed[path] else ' (gone)'}" for path in new[:FILES_NAMED]]
            more = [f"… and {len(new) - FILES_NAMED} more"] if len(new) > FILES_NAMED else []
            yield "Recently Modified Files", "\n".join((MODIFIED, *listed, *more))

    async def _workspace_files(self, most: int) -> list[Section]:
        try:
            listing = await asyncio.to_thread(self._runtime.services.files.list, ".", True, most)
        except FileProblem:
            # Such as an unreadable ignore file, which is reported when a file is read.
            return []
        hidden = self._runtime.services.files.is_secret
        entries = [entry for entry in listing.entries if not entry.startswith(HIDDEN_DIRECTORIES) and not hidden(entry)]
        if not entries and not listing.truncated:
            return []
        more = ["(There are more. Use list_files to see them.)"] if listing.truncated else []
        return [("Workspace Files", "\n".join((*map(printable_name, entries), *more)))]


def without_own_elements(text: str) -> str:
    """A text from outside that cannot end or begin an element in which Robota speaks to the model."""
    return _ELEMENT.sub("&lt;", text)


def _process_line(process: "BackgroundProcess") -> str:
    ending = process.ending
    if ending is None:
        state = "runs"
    else:
        state = f"ended by signal {ending.signal}" if ending.signal else f"ended with exit code {ending.exit_code}"
    return f"{process.id} {state}: {single_line(process.command, MAX_NAME_LENGTH)}"


def _branch(root: Path) -> str:
    """The branch that HEAD names, read from its file alone; empty if that is not possible."""
    top = repository_top(root)
    if top is None or (top / ".git").is_symlink():
        return ""
    own = top / ".git"
    if own.is_file():
        # A worktree, which is rare.
        from robota.workspace.git.git_directories import find_git_directories

        git = find_git_directories(top)
        if git is None:
            return ""
        own = git.own
    try:
        descriptor = os.open(own / "HEAD", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            head = file.read(MAX_HEAD_BYTES).decode("utf-8", "backslashreplace").strip()
    except OSError:
        return ""
    return single_line(head.removeprefix("ref: refs/heads/"), MAX_NAME_LENGTH)


async def _git_status(root: Path, most: int) -> str:
    if not most:
        return ""
    # Imported here because the git status is off by default.
    from robota.workspace.git.run import GitError, open_git

    try:
        git = await open_git(root, os.environ)
        changes = (await git.run("status", "--porcelain=v1", "--untracked-files=normal")).splitlines()
    except GitError:
        return ""
    more = [f"… and {len(changes) - most} more"] if len(changes) > most else []
    return "\n".join((*(single_line(line, MAX_NAME_LENGTH) for line in changes[:most]), *more)) or "nothing changed"

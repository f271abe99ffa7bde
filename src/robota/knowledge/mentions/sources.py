"""The texts of mentions that take more than one tool call: problems, commands that ran, other sessions."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.config.paths import user_directory
from robota.contracts.knowledge import PromptNotSent
from robota.contracts.workspace import Files, Processes
from robota.knowledge.mentions.earlier_work import command_with_output, last_commands, session_summary
from robota.log.errors import LogError
from robota.workspace.problems import FileProblem
from robota.workspace.text.syntax import check

if TYPE_CHECKING:
    from robota.log.catalogue.catalogue import CataloguedSession

import re
from collections.abc import Iterator

MAX_CHECKED_FILES: Final = 200
MAX_FILE_BYTES: Final = 1024 * 1024
PORCELAIN_STATE: Final = len("XY ")

# A `[tool.…]` section of pyproject.toml, and the command that uses it.
PYTHON_TOOLS: Final = {"ruff": "ruff check .", "mypy": "mypy .", "pyright": "pyright"}
SCRIPTS: Final = ("lint", "typecheck", "type-check")
OTHER_FILES: Final = {"Cargo.toml": "cargo check", "go.mod": "go vet ./..."}


class MentionSession(msgspec.Struct, frozen=True, kw_only=True):
    """What mentions need of a session."""

    session_id: str
    log: Path
    root: Path
    kept_in: Path
    processes: Processes
    checks: tuple[str, ...]  # of the settings
    context_window: int
    env: Mapping[str, str]
    resource_tool: Callable[[str], str | None]  # by the name of an MCP server


class MentionSources:
    """The methods return the text of a mention, and raise `PromptNotSent` with a reason if there is none."""

    def __init__(self, session: MentionSession, files: Files, shell: str) -> None:
        """`shell` is the name of the tool that runs commands."""
        self._session = session
        self._files = files
        self._shell = shell

    async def checks(self) -> Sequence[str]:
        """The commands that check the project."""
        return self._session.checks or await asyncio.to_thread(lambda: tuple(project_checks(self._file_text)))

    async def syntax_errors(self) -> str:
        """The syntax errors in changed files."""
        changed = (await self._changed_files())[:MAX_CHECKED_FILES]
        lines = []
        for path in changed:
            data = self._data(path)
            error = None if data is None else await asyncio.to_thread(check, path, None, data)
            if error is not None:
                lines.append(f"{path}:{error.line}:{error.column}: {error.problem}: {error.text}")
        output = f"{len(changed)} changed files were parsed"
        if not lines:
            return f"{output}; none has a syntax error."
        return "\n".join((f"{output}; these have syntax errors:", *lines))

    async def terminal(self) -> str:
        """The last commands and those in the background, with their output."""
        from robota.log.replay.branches import present_records
        from robota.log.replay.transcript import transcript

        log = self._session.log
        commands = await asyncio.to_thread(lambda: last_commands(transcript(present_records(log)), self._shell))
        for process in self._session.processes.background:
            state = "has ended" if process.ending is not None else "is running"
            heading = f"{process.command}  # in the background as {process.id}, {state}"
            commands.append(command_with_output(heading, process.last_text))
        if not commands:
            raise PromptNotSent("no command has run in this session yet")
        return "\n\n".join(commands)

    async def session(self, name: str) -> str:
        """The summary of another session, by its id or name."""
        try:
            return await asyncio.to_thread(self._summary, name)
        except LogError as error:
            raise PromptNotSent(str(error)) from error

    def _file_text(self, path: str) -> str | None:
        data = self._data(path)
        return None if data is None else data.decode("utf-8", "replace")

    def _data(self, path: str) -> bytes | None:
        """The content of a file; None if the model must not read it or it cannot be read."""
        files = self._files
        try:
            # The path may be a link to a file that is hidden from the model.
            names = (path, files.relative(path))
            if any(files.is_ignored(name) or files.is_secret(name) for name in names):
                return None
            return files.read(path, MAX_FILE_BYTES).data
        except (FileProblem, OSError, ValueError):
            return None

    async def _changed_files(self) -> list[str]:
        """The uncommitted files; without a repository, the files that this session read or wrote."""
        from robota.workspace.git.run import GitError, open_git

        try:
            git = await open_git(self._session.root, self._session.env)
            output = await git.run("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", ".")
            above = await git.line("rev-parse", "--show-prefix")
        except GitError:
            return sorted(self._files.stamps())
        paths = (entry[PORCELAIN_STATE:] for entry in output.split("\0") if entry)
        return [path.removeprefix(above) for path in paths]

    def _summary(self, name: str) -> str:
        from robota.log.catalogue.catalogue import catalogue
        from robota.log.catalogue.find import find_catalogued
        from robota.log.catalogue.places import project_places
        from robota.log.chain.reader import LOG_NAME
        from robota.log.replay.branches import present_records
        from robota.log.replay.transcript import transcript

        user = user_directory(self._session.env)
        sessions = catalogue(project_places(self._session.kept_in, user), user, lambda output: None)
        other = find_catalogued([session for session in sessions if session.id != self._session.session_id], name)
        entries = transcript(present_records(other.directory / LOG_NAME))
        return f"{_heading(other)}\n\n{session_summary(entries, tuple(other.summary.files))}"


def _heading(session: "CataloguedSession") -> str:
    whose = "" if session.is_own else " It was not written on this machine."
    return f"Session {session.id}, {session.name or session.summary.title!r} ({session.state}).{whose}"


class _Package(msgspec.Struct):
    scripts: dict[str, str] = {}


def project_checks(read: Callable[[str], str | None]) -> Iterator[str]:
    """The commands of the linters that a project has configured. Tests are run only if the settings name them.

    `read` returns the text of a file in the root of the project, or None if it does not exist.
    """
    pyproject = read("pyproject.toml") or ""
    for tool, command in PYTHON_TOOLS.items():
        if re.search(rf"^\[tool\.{tool}\b", pyproject, re.MULTILINE):
            yield command
    scripts = _scripts(read("package.json"))
    yield from (f"npm run --silent {name}" for name in SCRIPTS if name in scripts)
    yield from (command for name, command in OTHER_FILES.items() if read(name) is not None)


def _scripts(package: str | None) -> dict[str, str]:
    try:
        return msgspec.json.decode(package or "{}", type=_Package).scripts
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}

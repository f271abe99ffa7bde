"""The language servers of a session: which are there, starting them when they are first needed, and ending them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Final

import msgspec

from robota.workspace.files.files import EditableFiles
from robota.workspace.guests.guest_process import GuestProcess
from robota.workspace.language_servers.catalogue import ServerKind
from robota.workspace.language_servers.connection import NotAnswered, RequestFailed, ServerEnded
from robota.workspace.language_servers.server import LanguageServer
from robota.workspace.outside_program import find_program
from robota.workspace.problems import CommandNotStarted, FileProblem
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.search.stamped_files import FileStamp, changes_between, list_code_files, stamps_of
from robota.workspace.text.encoding import decode

MAX_FILE_BYTES: Final = 4 * 1024 * 1024
MAX_STARTS: Final = 3
IDLE_S: Final = 600.0
START_PATIENCE_S: Final = 20.0
# In a project of the user's, where its own tools are.
PROJECT_PROGRAMS: Final = (".venv/bin", "venv/bin", "node_modules/.bin")


class NoServer(msgspec.Struct, frozen=True):
    """Why there is no server for a file, as a clause."""

    reason: str


class Installed(msgspec.Struct, frozen=True):
    """A server that is there, with the program to start."""

    kind: ServerKind
    program: str


class LanguageServers:
    """The servers of one workspace. Only those that run no code of the project start unless it `is_trusted`."""

    def __init__(
        self,
        files: EditableFiles,
        is_hidden: Callable[[str], bool],
        processes: LocalProcesses,
        kinds: Sequence[ServerKind],
        *,
        environment: Mapping[str, str],
        is_trusted: bool,
    ) -> None:
        self._files = files
        self._is_hidden = is_hidden
        self._processes = processes
        self._kinds = kinds
        self._environment = environment
        self._is_trusted = is_trusted
        self._running: dict[str, _Running] = {}

    async def for_file(self, path: str) -> LanguageServer | NoServer:
        """The server for a file, started if need be, with all that changed on disk since its last question."""
        installed = self._installed_for(path)
        if isinstance(installed, NoServer):
            return installed
        running = self._running.setdefault(installed.kind.name, _Running(installed))
        server = await self._started(running)
        if isinstance(server, LanguageServer):
            running.keep_alive()
            await self._catch_up(running, server)
        return server

    def warm(self, path: str) -> LanguageServer | None:
        """The server for a file, if it runs already."""
        suffix = PurePath(path).suffix.lower()
        for running in self._running.values():
            if suffix in running.installed.kind.languages and running.server is not None and not running.server.ended:
                return running.server
        return None

    def show(self, server: LanguageServer, path: str) -> str:
        """Send the file as it is on disk; returns its text. Raises `FileProblem`."""
        text = decode(self._files.read(path, max_bytes=MAX_FILE_BYTES).data).content
        server.show(self._files.root / path, text)
        return text

    async def close(self) -> None:
        """End all servers."""
        running, self._running = list(self._running.values()), {}
        for each in running:
            await each.end()

    def _installed_for(self, path: str) -> Installed | NoServer:
        suffix = PurePath(path).suffix.lower()
        kinds = [kind for kind in self._kinds if suffix in kind.languages]
        if not kinds:
            return NoServer(f"no language server is known for {suffix or 'such'} files")
        untrusted = None
        for kind in kinds:
            program = self._program(kind)
            if program is None:
                continue
            if kind.runs_workspace_code and not self._is_trusted:
                untrusted = untrusted or kind
                continue
            return Installed(kind, program)
        if untrusted is not None:
            return NoServer(f"{untrusted.name} runs code of the project, which is not trusted")
        return NoServer(f"no language server for {suffix} files is installed")

    def _program(self, kind: ServerKind) -> str | None:
        program = find_program(kind.command[0], self._environment, not_beneath=self._files.root)
        if program is not None or not self._is_trusted:
            return program
        for directory in PROJECT_PROGRAMS:
            own = self._files.root / directory / kind.command[0]
            if own.is_file():
                return str(own)
        return None

    async def _started(self, running: "_Running") -> LanguageServer | NoServer:
        if running.server is not None and running.server.ended is None:
            return running.server
        if running.server is not None:
            running.problem = f"{running.installed.kind.name} stopped: {running.server.ended}"
            running.server, running.starting = None, None
        if running.starting is None:
            if running.starts >= MAX_STARTS:
                return NoServer(f"{running.problem or running.installed.kind.name} (it is not started again)")
            running.starts += 1
            running.starting = asyncio.create_task(self._begin(running))
        starting = running.starting
        await asyncio.wait([starting], timeout=START_PATIENCE_S)
        return starting.result() if starting.done() else NoServer(f"{running.installed.kind.name} is still starting")

    async def _begin(self, running: "_Running") -> LanguageServer | NoServer:
        kind, root = running.installed.kind, self._files.root
        argv = (running.installed.program, *kind.command[1:])
        try:
            server = await LanguageServer.start(
                kind, root, lambda on_bytes, on_end: GuestProcess(self._processes, argv, root, on_bytes, on_end)
            )
        except CommandNotStarted as error:
            running.starts = MAX_STARTS
            running.problem = f"{kind.name} cannot be started: {error}"
            return NoServer(running.problem)
        except (ServerEnded, RequestFailed, NotAnswered) as error:
            running.starting = None
            running.problem = f"{kind.name} did not start: {error}"
            return NoServer(running.problem)
        running.server = server
        running.stamps = await self._stamps(kind)
        return server

    async def _catch_up(self, running: "_Running", server: LanguageServer) -> None:
        """Tell the server what commands, git and others changed since it was last asked."""
        stamps = await self._stamps(server.kind)
        changes = changes_between(running.stamps, stamps)
        running.stamps = stamps
        server.note_changes(changes)
        touched = {*changes.changed, *changes.deleted}
        for path in server.shown():
            relative = str(path.relative_to(self._files.root)) if path.is_relative_to(self._files.root) else ""
            if relative not in touched:
                continue
            try:
                self.show(server, relative)
            except (FileProblem, ValueError):
                server.close_document(path)

    async def _stamps(self, kind: ServerKind) -> dict[str, FileStamp]:
        paths = await list_code_files(self._files.root, frozenset(kind.languages), self._is_hidden)
        return await asyncio.to_thread(stamps_of, self._files.root, paths, MAX_FILE_BYTES)


class _Running:
    """A server that is starting, runs, or failed."""

    def __init__(self, installed: Installed) -> None:
        self.installed = installed
        self.server: LanguageServer | None = None
        self.starting: asyncio.Task[LanguageServer | NoServer] | None = None
        self.starts = 0
        self.problem = ""
        self.stamps: dict[str, FileStamp] = {}
        self._idle: asyncio.TimerHandle | None = None

    def keep_alive(self) -> None:
        """End it only if it is not used for a while from now."""
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._end_idle)

    async def end(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if self.starting is not None and not self.starting.done():
            self.starting.cancel()
        if self.server is not None:
            await self.server.stop()

    def _end_idle(self) -> None:
        server, self.server, self.starting, self.starts = self.server, None, None, 0
        if server is not None:
            server.abandon("it was not used")

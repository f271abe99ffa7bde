"""Run git for our own calls, configured to run nothing that a repository names.

A repository's configuration can name programs for hooks, file monitors, filters, signatures and transports. All of them
are switched off here.
"""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.outside_program import CleanEnvironment, clean_environment, find_program, start_outside_async
from robota.workspace.process.environment import command_environment

TIMEOUT_S: Final = 60.0
MAX_OUTPUT_BYTES: Final = 16 * 1024 * 1024
WORDS_SHOWN: Final = 2000
PINNED: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "safe.bareRepository=explicit",
    "log.showSignature=false",
    "submodule.recurse=false",
)
ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    # A partial clone would fetch missing objects from wherever its configuration says.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
# Each of these starts a git in every submodule, which obeys the filters there; see `_within_repository`.
COMPARING: Final = frozenset({"status", "diff", "diff-files", "diff-index"})
OTHER_COMMITS_ONLY: Final = "--ignore-submodules=dirty"
# Read from the user's own configuration; a repository cannot set them.
PERSONAL: Final = r"^(safe\.directory|core\.excludesfile)$"
FILTER_KEYS: Final = ("clean", "smudge", "process")


class GitError(Exception):
    """git was not run, or failed."""


class GitMissing(GitError):
    """There is no git on this machine."""


class GitFailed(GitError):
    """git exited with an error; the message is its own."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


class GitStopped(GitError):
    """git took too long and was stopped, or printed too much."""


class Git(msgspec.Struct, frozen=True, kw_only=True):
    """git in one directory. `settings` override the repository's; commands may write to the `workspace`."""

    program: str
    directory: Path
    workspace: Path
    environment: Mapping[str, str]
    settings: tuple[str, ...] = PINNED

    async def run(self, *arguments: str, stdin: bytes = b"", timeout_s: float = TIMEOUT_S) -> str:
        """The output of a git command. Raises `GitError`; cancelling stops git too."""
        process = await self._start(arguments)
        try:
            async with asyncio.timeout(timeout_s):
                output, words = await _talk(process, stdin)
                code = await process.wait()
        except TimeoutError as error:
            raise GitStopped(f"git {arguments[0]} did not end within {timeout_s:g} seconds") from error
        finally:
            await _end(process)
        if code != 0:
            raise GitFailed(_shortened(words) or f"git {arguments[0]} ended with code {code}", code)
        return os.fsdecode(output)

    async def line(self, *arguments: str) -> str:
        """The output as one line, which may contain any character of a path."""
        return (await self.run(*arguments)).removesuffix("\n")

    async def agrees(self, *arguments: str) -> bool:
        """Whether git exits with success."""
        try:
            await self.run(*arguments)
        except GitFailed:
            return False
        return True

    async def _start(self, arguments: tuple[str, ...]) -> asyncio.subprocess.Process:
        options = [word for setting in self.settings for word in ("-c", setting)]
        try:
            return await start_outside_async(
                [self.program, "--no-pager", *options, *_within_repository(arguments)],
                workspace=self.workspace,
                cwd=self.directory,
                env=CleanEnvironment(self.environment),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise GitError(f"git could not be started in {self.directory}: {error.strerror}") from error


def _within_repository(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments, extended so that git ignores the files of submodules."""
    return (arguments[0], OTHER_COMMITS_ONLY, *arguments[1:]) if arguments[0] in COMPARING else arguments


async def open_git(directory: Path, env: Mapping[str, str], workspace: Path | None = None) -> Git:
    """git for a directory, with the filters of its repository disabled. Raises `GitError`.

    Nothing is taken from the `workspace`, by default the directory itself.
    """
    workspace = workspace or directory
    program = find_program("git", env, not_beneath=workspace)
    if program is None:
        raise GitMissing("There is no git on the PATH")
    inherited = clean_environment(command_environment(env), workspace)
    own = {name: value for name, value in inherited.items() if not name.startswith("GIT_")}
    personal = Git(program=program, directory=Path("/"), workspace=workspace, environment={**own, "LC_ALL": "C"})
    git = Git(
        program=program,
        directory=directory,
        workspace=workspace,
        environment={**own, **ENVIRONMENT},
        settings=(*PINNED, *await _personal_settings(personal)),
    )
    return msgspec.structs.replace(git, settings=(*git.settings, *await _without_filters(git)))


async def _personal_settings(git: Git) -> list[str]:
    try:
        listed = (await git.run("config", "--null", "--show-scope", "--get-regexp", PERSONAL)).split("\0")
    except GitFailed:
        return []
    scoped = zip(listed[::2], listed[1::2], strict=False)
    return [entry.replace("\n", "=", 1) for scope, entry in scoped if scope in ("system", "global")]


async def _without_filters(git: Git) -> list[str]:
    """Settings that disable every filter configured for this directory."""
    keys = (await git.run("config", "--null", "--name-only", "--list")).split("\0")
    names = {key.split(".", 1)[1].rpartition(".")[0] for key in keys if key.startswith("filter.")}
    for name in names:
        if "=" in name or "\n" in name:
            raise GitFailed(f"the repository's configuration names a filter {name!r}, which cannot be switched off", 1)
    return [
        setting
        for name in sorted(names)
        for setting in (*(f"filter.{name}.{key}=" for key in FILTER_KEYS), f"filter.{name}.required=false")
    ]


async def _talk(process: asyncio.subprocess.Process, stdin: bytes) -> tuple[bytes, bytes]:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    _, output, words = await asyncio.gather(_feed(process.stdin, stdin), _read(process.stdout), _read(process.stderr))
    return output, words


async def _feed(stream: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(ConnectionError):
        stream.write(data)
        await stream.drain()
    stream.close()


async def _read(stream: asyncio.StreamReader) -> bytes:
    """The whole output. A partial one would be wrong: missing names would count as absent."""
    kept, length = bytearray(), 0
    while piece := await stream.read(1 << 16):
        length += len(piece)
        kept += piece[: MAX_OUTPUT_BYTES - len(kept)]
    if length > MAX_OUTPUT_BYTES:
        raise GitStopped(f"git printed more than {MAX_OUTPUT_BYTES >> 20} MiB")
    return bytes(kept)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await process.wait()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _shortened(words: bytes) -> str:
    text = words.decode("utf-8", "replace").strip().removeprefix("fatal: ")
    return text[:WORDS_SHOWN]

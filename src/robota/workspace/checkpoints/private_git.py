"""git on a private object store and index, which treats the workspace as a plain directory of files.

Configuration, attributes, hooks, filters and identity of the user or of a repository in the workspace have no effect:
bytes are stored and restored unchanged.
"""

import os
import resource
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, TimeoutExpired
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Final

import msgspec

from robota.workspace.checkpoints.death_watch import killed_with_us
from robota.workspace.git.run import ENVIRONMENT, PINNED
from robota.workspace.outside_program import (
    CleanEnvironment,
    clean_environment,
    find_program,
    start_outside,
)
from robota.workspace.process.environment import command_environment

if TYPE_CHECKING:
    from subprocess import Popen

TIMEOUT_S: Final = 300.0
# A git that takes longer than this is watched: it must not outlive Robota. Most take milliseconds.
UNWATCHED_S: Final = 0.5
WORDS_SHOWN: Final = 500
INDEX: Final = "index"
OBJECT_FORMAT: Final = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
# These override every `.gitattributes` of the workspace.
ATTRIBUTES: Final = "* -text !eol !crlf -ident !filter !working-tree-encoding !diff !merge !whitespace\n"
SETTINGS: Final = (
    *PINNED,
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.excludesFile=/dev/null",
    "core.fileMode=true",
    "core.ignoreCase=false",
    "core.looseCompression=1",
    "core.logAllRefUpdates=false",
    "core.precomposeUnicode=false",
    "core.protectHFS=false",
    "core.protectNTFS=false",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "core.symlinks=true",
    "core.untrackedCache=false",
    "commit.gpgSign=false",
    "diff.external=",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "gc.auto=0",
    "index.version=4",
)
# For the main index, git writes only the changes, next to a shared file. Temporary indexes are written whole.
IN_TWO_PARTS: Final = ("core.splitIndex=true", "splitIndex.sharedIndexExpire=1.hour.ago")
NOBODY: Final = {
    "GIT_AUTHOR_NAME": "robota",
    "GIT_AUTHOR_EMAIL": "robota@invalid",
    "GIT_COMMITTER_NAME": "robota",
    "GIT_COMMITTER_EMAIL": "robota@invalid",
}


class CheckpointError(Exception):
    """A checkpoint could not be made, read or restored; the message, written for the user, says why."""


class TooMuchComputing(CheckpointError):
    """git used up the processor time that it was given."""


class PrivateGit(msgspec.Struct, frozen=True, kw_only=True):
    """git with one private git directory, `directory`, and one workspace.

    `environment` is clean, with encoded names and values: encoding them for each call would be measurable.
    """

    program: str
    directory: Path
    workspace: Path
    environment: Mapping[bytes, bytes]

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        below: bytes = b"",
        index: Path | None = None,
        settings: Sequence[str] = (),
        max_cpu_s: int | None = None,
    ) -> bytes:
        """The output of a git command. `below` makes a directory of the work tree its top; `index` is another index.

        `settings` apply to this call alone. Raises `TooMuchComputing` if it needs more processor time than `max_cpu_s`.
        """
        try:
            with self._input(stdin) as input_:
                process = start_outside(
                    self.command(arguments, (*(IN_TWO_PARTS if index is None else ()), *settings)),
                    stdin=input_,
                    stdout=PIPE,
                    stderr=PIPE,
                    workspace=self.workspace,
                    cwd=os.fsdecode(os.path.join(os.fsencode(self.workspace), below)),  # noqa: PTH118 - names are bytes
                    env=self._environment(below, index),
                    start_new_session=True,
                )
            if max_cpu_s is not None:
                _limit_cpu(process.pid, max_cpu_s)
            output, problem = _output(process)
        except TimeoutExpired as error:
            raise CheckpointError(f"git {arguments[0]} did not end within {TIMEOUT_S:g} seconds") from error
        except OSError as error:
            raise CheckpointError(f"git could not be started: {error.strerror}") from error
        if max_cpu_s is not None and process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            raise TooMuchComputing(f"git {arguments[0]} did not end within {max_cpu_s} seconds of processor time")
        if process.returncode != 0:
            words = problem.decode("utf-8", "replace").strip().removeprefix("fatal: ")[:WORDS_SHOWN]
            raise CheckpointError(words or f"git {arguments[0]} ended with code {process.returncode}")
        return output

    def start(self, *arguments: str, stdin: IO[bytes]) -> "Popen[bytes]":
        """Start a git that reads a file and writes to a pipe; the caller ends it."""
        return start_outside(
            self.command(arguments),
            stdin=stdin,
            stdout=PIPE,
            stderr=DEVNULL,
            workspace=self.workspace,
            cwd=self.workspace,
            env=self._environment(b"", None),
            start_new_session=True,
        )

    def command(self, arguments: Sequence[str], settings: Sequence[str] = ()) -> list[str]:
        """The complete command line."""
        given = (word for each in (*SETTINGS, *settings) for word in ("-c", each))
        return [self.program, "--no-pager", *given, *arguments]

    @contextmanager
    def _input(self, data: bytes) -> Iterator[IO[bytes]]:
        """A file to read `data` from. A pipe would have to be fed while git runs, and `communicate` forgets the rest of
        its input when it is called again after a timeout.
        """
        with TemporaryFile(dir=self.directory) if data else Path(os.devnull).open("r+b") as file:
            if data:
                file.write(data)
                file.seek(0)
            yield file

    def _environment(self, below: bytes, index: Path | None) -> CleanEnvironment:
        own = {
            b"GIT_DIR": os.fsencode(self.directory),
            b"GIT_INDEX_FILE": os.fsencode(index or self.directory / INDEX),
            b"GIT_WORK_TREE": os.path.join(os.fsencode(self.workspace), below),  # noqa: PTH118
        }
        return CleanEnvironment({**self.environment, **own})


def _limit_cpu(pid: int, most_s: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        resource.prlimit(pid, resource.RLIMIT_CPU, (most_s, most_s + 1))


def _output(process: "Popen[bytes]") -> tuple[bytes, bytes]:
    """Its output. It never outlives this call, and once it takes long, not this process either."""
    try:
        try:
            return process.communicate(timeout=UNWATCHED_S)
        except TimeoutExpired:
            with killed_with_us(process.pid):
                return process.communicate(timeout=TIMEOUT_S)
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def private_git(directory: Path, workspace: Path, env: Mapping[str, str]) -> PrivateGit:
    """git for a private directory. Raises `CheckpointError` if there is no git outside the workspace."""
    program = find_program("git", env, not_beneath=workspace)
    if program is None:
        raise CheckpointError("git, which checkpoints need, is not on the PATH")
    inherited = clean_environment(command_environment(env), workspace)
    own = {name: value for name, value in inherited.items() if not name.startswith("GIT_")}
    merged = {**own, **ENVIRONMENT, **NOBODY}
    return PrivateGit(
        program=program,
        directory=directory,
        workspace=workspace,
        environment={os.fsencode(name): os.fsencode(value) for name, value in merged.items()},
    )


def make_git_directory(directory: Path) -> None:
    """Create an empty object store by hand: `git init` would apply templates."""
    for name in ("objects/info", "objects/pack", "refs/heads", "info"):
        (directory / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in (
        ("config", OBJECT_FORMAT),
        ("info/attributes", ATTRIBUTES),
        ("info/exclude", "/.robota/\n"),
        ("HEAD", "ref: refs/heads/none\n"),
    ):
        (directory / name).write_text(content)

"""A repository with one commit and a sandbox around it, in which git may change its data."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.git.git_directories import find_git_directories
from robota.workspace.process.git_settings import with_git_settings
from robota.workspace.process.wrapped_command import SandboxAccess, WrappedCommand
from robota.workspace.sandbox.backend import SandboxKind
from robota.workspace.sandbox.border import build_border
from tests.workspace.sandbox.cells import make

GIT_DATA = SandboxAccess(git_data=True)
# What a later git executes or obeys, and so must be after any command what it was before.
CONTROL = (
    *("config", "config.worktree", "hooks", "info", "commondir", "worktrees", "modules", "objects/info"),
    *("rebase-merge", "rebase-apply"),
)


class Running:
    """A command in the sandbox, whose results are written back when the context ends."""

    def __init__(self, wrapped: WrappedCommand) -> None:
        environment = with_git_settings(os.environ, wrapped.git_settings)
        self._process = subprocess.Popen(
            wrapped.argv,
            pass_fds=wrapped.descriptors,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.left_out: tuple[str, ...] = ("not written back",)
        self.output = ""
        self.code: int | None = None

    def wait(self) -> None:
        if self.code is None:
            self.output = self._process.communicate()[0]
            self.code = self._process.returncode


class Place:
    """A repository with one commit, and a sandbox around it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.temporary = root.parent / f"tmp-of-{root.name}"
        self.temporary.mkdir()
        self.user = root.parent / f"user-of-{root.name}"
        if not (root / ".git").exists():
            root.mkdir()
            self.git("init", "-q", "-b", "main")
            self.git("config", "user.name", "Somebody")
            self.git("config", "user.email", "somebody@example.com")
            (root / "a.txt").write_text("one\n")
            self.git("add", ".")
            self.git("commit", "-qm", "one")

    def git(self, *words: str, check: bool = True) -> str:
        """git as the user runs it, outside the sandbox."""
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def started(self, command: str, hidden: tuple[Path, ...] = (), secrets: tuple[Path, ...] = ()) -> Iterator[Running]:
        """A command that runs while the context lasts. `secrets` are hidden from it, `hidden` from the model too."""
        border = build_border(HeldRoot(self.root), self.temporary, home=None, secrets=secrets)
        border = msgspec.structs.replace(border, kept_from_model=hidden, user_directory=self.user)
        wrapped = make(SandboxKind.BUBBLEWRAP, border).wrap(["/bin/bash", "-c", command], self.root, GIT_DATA)
        try:
            running = Running(wrapped)
            yield running
            running.wait()
            running.left_out = wrapped.write_back() if wrapped.write_back is not None else ("no copy",)
        finally:
            wrapped.clean_up()

    def inside(
        self, command: str, hidden: tuple[Path, ...] = (), secrets: tuple[Path, ...] = ()
    ) -> tuple[int, str, tuple[str, ...]]:
        """The exit code, the output, and what was not taken over."""
        with self.started(command, hidden, secrets) as running:
            running.wait()
        assert running.code is not None
        return running.code, running.output, running.left_out

    def hook(self, name: str, script: str) -> None:
        hook = self.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{script}\ntrue\n")
        hook.chmod(0o755)

    def control(self) -> dict[str, bytes]:
        git = find_git_directories(self.root)
        assert git is not None
        places = [each / name for each in {git.own, git.common} for name in CONTROL]
        files = [file for place in places for file in (place, *place.rglob("*")) if file.is_file()]
        of_the_worktree = {git.own / name for name in ("gitdir", "commondir", "config.worktree")}
        if git.is_worktree:
            files = [file for file in files if not file.is_relative_to(git.own) or file in of_the_worktree]
        return {str(file): file.read_bytes() for file in files}

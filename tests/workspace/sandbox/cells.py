"""A place to try a sandbox in: a workspace, a home with secrets, and a way to run things inside."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.process.processes import MAX_STARTS
from robota.workspace.sandbox.backend import SandboxBackend, SandboxKind, detect_backend
from robota.workspace.sandbox.border import Border, build_border

# Not the one of a virtual environment: that may lie in /tmp, which commands in the sandbox see as their own.
PYTHON = str(Path(sys.executable).resolve())
KINDS = [SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK]


class Cell:
    """A workspace with a repository, and a home with secrets."""

    def __init__(self, kind: SandboxKind, base: Path, *, network: bool = False) -> None:
        self.root, self.home, self.outside = base / "ws", base / "home", base / "outside"
        self.temporary = base / "tmp"
        for place in (self.root, self.home / ".ssh", self.outside, self.temporary, self.root / ".git" / "hooks"):
            place.mkdir(parents=True)
        (self.home / ".ssh" / "id").write_text("secret")
        (self.home / ".netrc").write_text("secret")
        (self.root / ".git" / "config").write_text("[core]\n")
        self.kind = kind
        self.network = network
        self.renew()

    def renew(self) -> None:
        """Look again at what there is to protect, as a new session does."""
        border = build_border(HeldRoot(self.root), self.temporary, home=self.home, network=self.network)
        self.sandbox = make(self.kind, border)

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        """Run it; once more if bubblewrap gave up, because a test beside this one took away a socket meanwhile."""
        for _ in range(MAX_STARTS):
            wrapped = self.sandbox.wrap(["/bin/bash", "-c", command])
            try:
                done = subprocess.run(
                    wrapped.argv,
                    pass_fds=wrapped.descriptors,
                    cwd=self.root,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if not (wrapped.was_not_run() and done.stderr.startswith("bwrap: ")):
                    break
            finally:
                wrapped.clean_up()
        return done

    def names(self) -> list[str]:
        """What lies in the workspace, seen from outside."""
        return sorted(path.name for path in self.root.iterdir())


def landlock_abi() -> int:
    """What this kernel's Landlock can do; below 1 there is none."""
    return int(ctypes.CDLL(None).syscall(444, None, 0, 1))


def make(kind: SandboxKind, border: Border) -> SandboxBackend:
    """A sandbox of that kind; where it does not work, the test is skipped."""
    found = detect_backend(border)
    if kind is SandboxKind.LANDLOCK and landlock_abi() < 1:
        pytest.skip("this kernel has no Landlock")
    if kind is SandboxKind.BUBBLEWRAP and found.kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(f"no bubblewrap: {found.reason}")
    return SandboxBackend(kind=kind, border=border, executable=found.executable)

"""Where the benchmarks run: a fresh home and workspace, and the fake model server as a process of its own."""

import contextlib
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.processes import Cost, measure

ROOT = Path(__file__).parents[1]
ROBOTA = str(Path(sys.executable).with_name("robota"))
MOST_TURNS = "5000"
# A long conversation must be measured as it is, not condensed.
NEVER_FULL = 100_000_000


class Bench:
    """One robota set up for one fake server."""

    def __init__(self, directory: Path, server: str) -> None:
        self.server = server
        self.home = directory / "home"
        self.workspace = directory / "workspace"
        self.workspace.mkdir(exist_ok=True)
        options = {"contextWindow": NEVER_FULL}
        self.use({"type": "openai-compatible", "baseURL": f"{server}/v1", "model": "fake-model", "options": options})

    @property
    def env(self) -> dict[str, str]:
        # Nobody looks for a newer version meanwhile.
        quiet = {"DO_NOT_TRACK": "1", "LANG": "C.UTF-8"}
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home), **quiet}

    def use(self, profile: dict[str, Any]) -> None:
        """Make `profile` the one robota answers with."""
        settings = self.home / ".robota/settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_bytes(msgspec.json.encode({"currentProvider": "bench", "providers": {"bench": profile}}))

    def play(self, scenario: str, delay: float = 0) -> None:
        """What the fake model does from now on, `delay` ms after each chunk; forgets earlier requests."""
        request = urllib.request.Request(
            f"{self.server}/__fake/reset",
            data=msgspec.json.encode({"scenario": scenario, "main": "all", "delay": delay}),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            answer.read()

    def records(self) -> list[dict[str, Any]]:
        """What the server saw, one record a request."""
        with urllib.request.urlopen(f"{self.server}/__fake/log") as answer:
            return msgspec.json.decode(answer.read(), type=list[dict[str, Any]])

    def robota(self, *arguments: str) -> Cost:
        return measure([ROBOTA, *arguments], self.workspace, self.env)

    def ask(self, scenario: str) -> Cost:
        """One `robota -p` while the fake model plays `scenario`."""
        self.play(scenario)
        return self.robota("-p", "Go.", "--permission-mode", "bypassPermissions", "--max-turns", MOST_TURNS)

    def python(self, *arguments: str) -> Cost:
        return measure([sys.executable, *arguments], self.workspace, self.env)


@contextlib.contextmanager
def bench() -> Iterator[Bench]:
    """A bench in a temporary directory; the server stops with it."""
    with tempfile.TemporaryDirectory(prefix="robota-bench-") as name, fake_server(Path(name)) as server:
        yield Bench(Path(name), server)


@contextlib.contextmanager
def fake_server(directory: Path) -> Iterator[str]:
    workdir = directory / "workspace"
    command = [sys.executable, "-m", "tests.fakellm", "--port", "0", "--workdir", str(workdir), "--lines", "3"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        greeting = process.stdout.readline().split()
        if not greeting:
            raise RuntimeError("the fake model server did not start; its message is above")
        yield greeting[-1].removesuffix("/v1").rstrip("/")
    finally:
        process.terminate()
        process.wait()

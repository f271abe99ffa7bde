"""A machine that is short of something is not one without a sandbox, and nothing runs unconfined meanwhile."""

import asyncio
import errno
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import robota.workspace.process.foreground
import robota.workspace.process.shell_trace  # noqa: F401 - imported while descriptors are left
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.sandbox.session_sandbox import SessionSandbox


@contextmanager
def few_descriptors(free: int) -> Iterator[None]:
    """As many as are open now, and `free` more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


_without_descriptors: set[str] = set()


def _refuse(event: str, values: tuple[object, ...]) -> None:
    """An audit hook, which cannot be removed again: opening these places fails as if other threads had taken all."""
    if event in ("open", "os.scandir", "os.listdir") and str(values[0]) in _without_descriptors:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(values[0]))


@pytest.mark.parametrize("name", [".vscode", ".robota", "/proc/net/unix"])
def test_what_could_not_be_looked_at_for_lack_of_descriptors_is_not_taken_for_harmless(
    tmp_path: Path, name: str
) -> None:
    """Hard links of protected files, placeholders of other sessions, sockets of programs outside."""
    root = tmp_path / "ws"
    (root / ".vscode").mkdir(parents=True)
    (root / ".robota").mkdir()
    (root / ".vscode" / "tasks.json").write_text("{}")
    os.link(root / ".vscode" / "tasks.json", root / "other")
    sandbox = SessionSandbox(root, home=None)
    sys.addaudithook(_refuse)
    _without_descriptors.update({str(root / name), name})  # the second one is opened beneath the root
    try:
        with pytest.raises(CommandNotStarted, match="no sandbox could be built just now"):
            sandbox.wrap(["true"], root)
    finally:
        _without_descriptors.clear()
    try:
        assert "is a hard link" in sandbox.backend.reason
    finally:
        sandbox.close()


@pytest.mark.parametrize("free", range(14))
def test_without_descriptors_no_command_runs_and_later_the_sandbox_is_there(tmp_path: Path, free: int) -> None:
    (tmp_path / "ws").mkdir()
    sandbox = SessionSandbox(tmp_path / "ws", home=None)
    outside = tmp_path / "outside"

    async def scenario() -> str:
        processes = LocalProcesses(wrap=sandbox.wrap)
        try:
            with few_descriptors(free):
                try:
                    assert sandbox.works()
                    await processes.run(f"echo x > {outside}", tmp_path / "ws", 60, lambda _: None)
                except CommandNotStarted:
                    pass
            assert not outside.exists()
            done = await processes.run(f"echo x > {outside}; echo inside", tmp_path / "ws", 60, lambda _: None)
        finally:
            processes.close()
            sandbox.close()
        return done.output_head

    assert "inside" in asyncio.run(scenario())
    assert not outside.exists()
    assert sandbox.works()
    sandbox.close()

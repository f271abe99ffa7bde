"""A machine that is short of something is not one without a sandbox, and nothing runs unconfined meanwhile."""

import asyncio
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

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

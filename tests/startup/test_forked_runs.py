"""What `robota` finds in a process that was forked for a test is what it finds in one that was started."""

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.harness.cli import clean_environment, run
from tests.harness.forked_run import can_fork, run_forked

pytestmark = pytest.mark.skipif(not can_fork(), reason="this system has no pidfd_open, so nothing is forked for tests")

LOOK = """
import hashlib, json, os, resource, signal, sys
streams = [sys.stdin, sys.stdout, sys.stderr]
found = {
    "arguments": sys.argv,
    "directory": os.getcwd(),
    "environment": dict(os.environ),
    "streams": [(each.encoding, each.errors, each.isatty(), each.fileno(), each.line_buffering) for each in streams],
    "descriptors": [each for each in range(1024) if os.path.lexists(f"/proc/self/fd/{each}")],
    "signals": [str(signal.getsignal(each)).partition(" at ")[0] for each in sorted(signal.valid_signals())],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "mask": os.umask(0),
    "limits": [resource.getrlimit(each) for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)],
    "group": os.getpgrp(),
    "session": os.getsid(0),
    "path": sys.path,
    "flags": list(sys.flags),
    "of robota": sorted(name for name in sys.modules if name.partition(".")[0] == "robota"),
    "read": hashlib.sha256(sys.stdin.buffer.read()).hexdigest(),
    "name": __name__,
}
json.dump(found, sys.stdout)
print("é".encode().decode(), file=sys.stderr)
sys.exit(7)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**clean_environment(tmp_path), "ODD": "\udcff", "EMPTY": ""}


def test_they_differ_in_nothing(tmp_path: Path, environment: dict[str, str]) -> None:
    script = tmp_path / "look.py"
    script.write_text(LOOK)
    words = "line\n" * 100_000
    started = run([sys.executable, str(script), "-x", "a b", "é"], tmp_path, environment, words)
    command = [str(script), "-x", "a b", "é"]
    code, out, err = run_forked(command, tmp_path, environment, words.encode(), 100)
    assert (code, err.decode()) == (started.code, started.stderr) == (7, "é\n")
    found, expected = json.loads(out), json.loads(started.stdout)
    assert found == expected


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_end_by_a_signal_is_told(tmp_path: Path, environment: dict[str, str], number: int) -> None:
    script = tmp_path / "dies.py"
    script.write_text(f"import os; print('before', flush=True); os.kill(os.getpid(), {int(number)})")
    assert run_forked([str(script)], tmp_path, environment, b"", 100) == (-number, b"before\n", b"")


def test_what_takes_too_long_is_killed(tmp_path: Path, environment: dict[str, str]) -> None:
    script = tmp_path / "waits.py"
    script.write_text("import signal; signal.pause()")
    assert run_forked([str(script)], tmp_path, environment, b"", 0.1) == (-signal.SIGKILL, b"", b"")

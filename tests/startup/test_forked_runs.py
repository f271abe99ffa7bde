"""What `robota` finds in a process that was forked for a test is what it finds in one that was started."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.harness.cli import clean_environment, run
from tests.harness.forked_run import can_fork, run_forked
from tests.harness.interpreter_server import MODULES

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
    "read": hashlib.sha256(sys.stdin.buffer.read()).hexdigest(),
    "name": __name__,
}
json.dump(found, sys.stdout)
print("é".encode().decode(), file=sys.stderr)
sys.exit(7)
"""

ROOT = Path(__file__).parents[2]
# What the modules computed when they were imported, which is what a run could have of another one.
CONSTANTS = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
ours = {name: vars(module) for name, module in sys.modules.items() if name.partition(".")[0] == "robota"}
plain = str | bytes | int | float | tuple | list | dict
found = {f"{name}.{each}": repr(value) for name, values in ours.items()
         for each, value in values.items() if each.isupper() and isinstance(value, plain)}
json.dump({name: text for name, text in found.items() if " at 0x" not in text}, sys.stdout)
"""
IMPORT = """
import json, sys
from tests.harness.interpreter_server import import_without_environment
import_without_environment(sys.argv[1:])
print(json.dumps([name in sys.modules for name in sys.argv[1:]]))
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


def test_modules_that_were_imported_before_the_fork_know_nothing_of_the_environment_there(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    script = tmp_path / "constants.py"
    script.write_text(CONSTANTS)
    environment["PYTHONHASHSEED"] = "0"  # for the order of sets
    started = run([sys.executable, str(script), *MODULES], tmp_path, environment, "")
    code, out, err = run_forked([str(script), *MODULES], tmp_path, environment, b"", 100)
    assert (code, err.decode()) == (started.code, started.stderr) == (0, "")
    found, expected = json.loads(out), json.loads(started.stdout)
    assert len(expected) > 100 and {name: found.get(name) for name in expected} == expected


def imported(names: tuple[str, ...], directory: Path) -> dict[str, bool]:
    """Which of these modules are there after the server has imported all that it may."""
    env = {**clean_environment(directory), "PYTHONPATH": os.pathsep.join((str(ROOT), str(directory)))}
    done = run([sys.executable, "-c", IMPORT, *names], directory, env, "")
    assert done.code == 0, done.stderr
    return dict(zip(names, json.loads(done.stdout), strict=True))


def test_every_module_that_is_imported_before_the_fork_exists(tmp_path: Path) -> None:
    """Otherwise the tests would become slower, and nobody would notice."""
    assert [name for name, is_there in imported(MODULES, tmp_path).items() if not is_there] == []


def test_a_module_that_reads_the_environment_is_imported_after_the_fork(tmp_path: Path) -> None:
    reads = {
        "gets": 'import os\nHOME = os.environ.get("HOME")\n',
        "takes": 'import os\nHOME = os.environ["HOME"]\n',
        "asks": 'import os\nHAS_HOME = "HOME" in os.environ\n',
        "calls": 'import os\nHOME = os.getenv("HOME")\n',
        "copies": "import os\nALL = dict(os.environ)\n",
        "depends": "import takes\n",
    }
    for name, text in {**reads, "reads_later": "import os\ndef home(): return os.environ['HOME']\n"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    names = (*reads, "reads_later")
    assert imported(names, tmp_path) == {**dict.fromkeys(reads, False), "reads_later": True}

"""Running many commands at once in a bubblewrap that can change nothing, under one strace."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tests.fuzz.gate.trace import TRACED, Effect, effects_by_case

DRIVER: Final = Path(__file__).with_name("driver.py")
SECONDS: Final = 600


class Observed(msgspec.Struct, frozen=True):
    """What a command printed and did."""

    output: str
    effects: list[Effect]


def missing_tools() -> str | None:
    """Why commands cannot be watched here; None if they can."""
    for program in ("bwrap", "strace"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    with tempfile.TemporaryDirectory() as directory:
        try:
            observed = run_all([(directory, {"PATH": "/usr/bin:/bin"}, ["true"])], Path(directory))
        except subprocess.CalledProcessError as error:
            return f"strace cannot run inside bubblewrap here: {error.stderr.strip()[-200:]}"
    return None if observed[0].effects else "strace sees nothing inside bubblewrap"


def run_all(commands: Sequence[tuple[str, Mapping[str, str], Sequence[str]]], base: Path) -> list[Observed]:
    """Run each command in its directory and environment; a single word is a text for bash.

    Everything is read-only, below `base` too.
    """
    with tempfile.TemporaryDirectory() as directory:
        trace = Path(directory) / "trace"
        confined = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
        confined += ["--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind", str(base), str(base)]
        confined += ["--bind", directory, directory, "--ro-bind", str(DRIVER), str(DRIVER)]
        confined += ["--ro-bind", sys.prefix, sys.prefix]  # the checkout may be below /tmp
        watched = ["strace", "-f", "-qq", "-y", "-s", "4096", "--seccomp-bpf", "-e", "signal=none"]
        watched += ["-e", f"trace={','.join(TRACED)}", "-o", str(trace)]
        done = subprocess.run(
            [*confined, *watched, sys.executable, "-I", "-S", str(DRIVER)],
            input=json.dumps([list(command) for command in commands]),
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
        )
        with trace.open(errors="surrogateescape") as lines:
            effects = effects_by_case(lines)
    printed = json.loads(done.stdout)
    return [Observed(output, effects.get(number, [])) for number, (_, output) in enumerate(printed)]

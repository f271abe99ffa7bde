"""What the walls around a command cost, against the same command without them, for each kind this machine has."""

import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.process.wrapped_command import NO_MORE_ACCESS, CommandWrapper, WrappedCommand, unwrapped
from robota.workspace.sandbox.backend import SandboxBackend, SandboxKind, detect_backend
from robota.workspace.sandbox.border import Border, build_border

RUNS = 100
TARGET_MS = 15
COMMAND = ("/bin/bash", "-c", "true")


def sandbox(bench: Bench) -> list[Measurement]:
    border = session_border(bench)
    kinds = [kind for kind in (SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK) if works(kind, border)]
    sides = [SandboxBackend(kind=kind, border=border, executable=detect_backend(border).executable) for kind in kinds]
    bare, *walled = times_ms(border, sides)
    return [
        Measurement(
            name=f"a command in {kind}, more than without",
            value=mine - bare,
            target=TARGET_MS,
            unit="ms",
            detail=f"{mine:.1f} ms / {bare:.1f} ms = {mine / bare:.1f} x, medians of {RUNS}",
        )
        for kind, mine in zip(kinds, walled, strict=True)
    ]


def session_border(bench: Bench) -> Border:
    """As a session finds it: a workspace with its log, another repository, and a home with secrets and other things."""
    temporary = bench.workspace.parent / "sandbox-tmp"
    inside = (bench.workspace / ".robota/sessions", bench.workspace / "inner/.git")
    for place in (temporary, bench.home / ".ssh", bench.home / ".aws", *inside):
        place.mkdir(parents=True, exist_ok=True)
    for number in range(100):
        (bench.home / f"thing{number}").touch()
    return build_border(HeldRoot(bench.workspace), temporary, home=bench.home, secrets=(bench.home / ".robota",))


def works(kind: SandboxKind, border: Border) -> bool:
    found = detect_backend(border).kind
    return found is kind or (found is SandboxKind.BUBBLEWRAP and kind is SandboxKind.LANDLOCK)


def times_ms(border: Border, sides: list[SandboxBackend]) -> list[float]:
    """Medians of the bare command and of each sandbox, in turn; the first round warms up."""
    ways: list[CommandWrapper] = [unwrapped, *(side.wrap for side in sides)]
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(RUNS + 1):
        for kept, way in zip(times, ways, strict=True):
            start = time.perf_counter()
            run(way(COMMAND, border.root, NO_MORE_ACCESS), border.root)
            kept.append(time.perf_counter() - start)
    return [statistics.median(kept[1:]) * 1000 for kept in times]


def run(wrapped: WrappedCommand, cwd: Path) -> None:
    try:
        subprocess.run(
            wrapped.argv,
            pass_fds=wrapped.descriptors,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
    finally:
        wrapped.clean_up()

"""What the walls around a command cost, against the same command without them, for each kind this machine has."""

import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from robota.workspace.process.wrapped_command import NO_MORE_ACCESS, CommandWrapper, WrappedCommand, unwrapped
from robota.workspace.sandbox.backend import SandboxBackend, SandboxKind, detect_backend
from robota.workspace.sandbox.profile import SandboxProfile, workspace_profile

RUNS = 100
TARGET_MS = 15
COMMAND = ("/bin/bash", "-c", "true")


def sandbox(bench: Bench) -> list[Measurement]:
    profile = session_profile(bench)
    kinds = [kind for kind in (SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK) if works(kind, profile)]
    sides = [
        SandboxBackend(kind=kind, profile=profile, executable=detect_backend(profile).executable) for kind in kinds
    ]
    bare, *walled = times_ms(profile, sides)
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


def session_profile(bench: Bench) -> SandboxProfile:
    """As a session finds it: a workspace with its log, another repository, and a home with secrets and other things."""
    temporary = bench.workspace.parent / "sandbox-tmp"
    inside = (bench.workspace / ".robota/sessions", bench.workspace / "inner/.git")
    for place in (temporary, bench.home / ".ssh", bench.home / ".aws", *inside):
        place.mkdir(parents=True, exist_ok=True)
    for number in range(100):
        (bench.home / f"thing{number}").touch()
    return workspace_profile(bench.workspace, temporary, home=bench.home, secrets=(bench.home / ".robota",))


def works(kind: SandboxKind, profile: SandboxProfile) -> bool:
    found = detect_backend(profile).kind
    return found is kind or (found is SandboxKind.BUBBLEWRAP and kind is SandboxKind.LANDLOCK)


def times_ms(profile: SandboxProfile, sides: list[SandboxBackend]) -> list[float]:
    """Medians of the bare command and of each sandbox, in turn; the first round warms up."""
    ways: list[CommandWrapper] = [unwrapped, *(side.wrap for side in sides)]
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(RUNS + 1):
        for kept, way in zip(times, ways, strict=True):
            start = time.perf_counter()
            run(way(COMMAND, profile.root, NO_MORE_ACCESS), profile.root)
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

"""Opening a long session in a real terminal: how much later its end is shown than that of a short one, and memory."""

import shutil
from pathlib import Path

from benchmarks.bench import ROBOTA, Bench
from benchmarks.measurement import Measurement
from benchmarks.terminal import Window
from robota.log.reopening import reopen_session
from robota.log.snapshot_keeper import SNAPSHOTS
from tests.log.catalogue.logs import Clock, Written, note_as_own

ROUNDS = 7
MESSAGES = 100_000
WORDS = "what somebody said about the code in one of very many messages " * 11
SHORTENED_EVERY = 400
END = "these are the very last words"
SHORT, LONG = "short", "long"
TARGET_MS = 200


def opening(bench: Bench) -> list[Measurement]:
    """100,000 messages and 200 MB beside a single answer, opened in turn, with and without a snapshot."""
    bench.use({"type": "scripted", "model": "scripted", "options": {"turns": []}})
    user = bench.home / ".robota"
    short, long = (_session(bench.workspace, name, count) for name, count in ((SHORT, 1), (LONG, MESSAGES)))
    note_as_own(user, (short, long))
    megabytes = (long / "log.jsonl").stat().st_size / 1_000_000
    for directory in (short, long):
        reopen_session(directory, user, Clock()).log.close()
    size = f"{MESSAGES:,} messages, {megabytes:.0f} MB"
    rows = _rows(bench, f"open {size}, more than one message")
    anew = _rows(bench, f"open {size}, no snapshot, more than one message", user / SNAPSHOTS)
    return [*rows, anew[0]]


def _rows(bench: Bench, name: str, removed: Path | None = None) -> list[Measurement]:
    """Until the end of the conversation is on the screen. Noise only ever adds, so the quickest of each counts."""
    took: dict[str, list[float]] = {SHORT: [], LONG: []}
    memory: dict[str, list[float]] = {SHORT: [], LONG: []}
    for _ in range(ROUNDS):
        for session in (SHORT, LONG):
            if removed is not None:
                shutil.rmtree(removed, ignore_errors=True)
            window = Window([ROBOTA, "--resume", session], bench)
            took[session].append(window.wait_for(END.encode()))
            memory[session].append(window.memory_mb)
            window.close()
    short, long = min(took[SHORT]), min(took[LONG])
    detail = f"{long:.0f} and {short:.0f} ms until its end is shown, quickest of {ROUNDS}"
    small, large = max(memory[SHORT]), max(memory[LONG])
    return [
        Measurement(name=name, value=long - short, target=TARGET_MS, unit="ms", detail=detail),
        Measurement(
            name="memory of it then, beside one message",
            value=large / small,
            target=1.5,
            unit="x",
            detail=f"{large:.0f} MB / {small:.0f} MB",
        ),
    ]


def _session(root: Path, name: str, messages: int) -> Path:
    """A conversation of so many messages, half of them prompts, shortened now and then as a real one is."""
    written = Written(root, name)
    for number in range(messages // 2):
        written.prompt(f"{number} {WORDS}").reply(WORDS)
        if number % SHORTENED_EVERY == SHORTENED_EVERY - 1:
            written.condense()
    written.reply(END).end()
    return written.directory

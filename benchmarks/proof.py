"""`robota why` in projects with few and many sessions."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from robota.app.proof import origins_of_lines
from robota.log.chain.head import head_path
from robota.log.chain.writer import SessionLog, wall_clock_ms
from robota.log.kinds.calls import ToolEndRecord, ToolStartRecord, VerdictRecord
from robota.log.kinds.conversation import MessageRecord, TurnRecord
from robota.log.kinds.session import SessionHeader, TaskRecord
from robota.protocol.conversation import AssistantTurn, TextBlock, ToolUseBlock
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode

ROUNDS = 7
FEW, MANY = 100, 1_000
EDITS = 10
FILE = "module.py"


def proof(bench: Bench) -> list[Measurement]:
    """A line of a file that every session edited, once the index is there; it looks whether a log has changed."""
    place = bench.home.parent / "proof-bench"
    times = {count: _asked(place / f"of-{count}", count) for count in (FEW, MANY)}
    shutil.rmtree(place)
    told = f"{times[FEW] * 1000:.1f} and {times[MANY] * 1000:.1f} ms for {FEW} and {MANY:,} sessions"
    return [
        Measurement(
            name=f"why, {MANY:,} sessions", value=times[MANY] * 1000, target=1_000, unit="ms", detail="index there"
        ),
        Measurement(name="why, ten times as much", value=times[MANY] / times[FEW], target=15, unit="x", detail=told),
    ]


def _asked(root: Path, count: int) -> float:
    root.mkdir(parents=True)
    env = {**os.environ, "ROBOTA_HOME": str(root / "home"), "HOME": str(root / "home")}
    for number in range(count):
        _session(root, number)
    lines = [f"value_{number} = {number}" for number in range(0, count, max(1, count // 200))]
    data = "\n".join(lines).encode() + b"\n"

    def ask() -> None:
        origins_of_lines(root, env, FILE, data, [len(lines) // 2], lambda text: None)

    ask()  # the index is made
    return _median(ask)


def _session(root: Path, number: int) -> None:
    user, directory = root / "home", root / ".robota" / "sessions" / f"s{number:05d}"
    log = SessionLog.create(directory, wall_clock_ms, head_file=head_path(user, directory))
    header = SessionHeader(
        id=directory.name,
        cwd=str(root),
        model="m",
        provider="p",
        permission_mode=PermissionMode.DEFAULT,
        completion="implicit",
        version="0",
    )
    log.append(header)
    log.append(TaskRecord(task_id="t", mode="code"))
    for edit in range(EDITS):
        call, path = f"call_{edit}", FILE if edit == 0 else f"other_{edit}.py"
        use = ToolUseBlock(id=call, name="edit_file", input={"path": path})
        log.append(TurnRecord(task_id="t", turn=AssistantTurn(content=(TextBlock(text="I write it."), use))))
        log.append(VerdictRecord(task_id="t", call_id=call, tool="edit_file", decision="allow", reason="mode"))
        diff = f"@@ -1,1 +1,2 @@\\n value_{number - 1} = {number - 1}\\n+value_{number} = {number}\\n"
        text = f'{{"tool":"editedExistingFile","path":"{path}","diff":"{diff}"}}'
        row = Message(ts=log.next_ts(), type="say", say="tool", text=text, call_id=call)
        log.append(MessageRecord(task_id="t", message=row))
        log.append(ToolStartRecord(task_id="t", call_id=call, tool="edit_file", input={"path": path}))
        log.append(ToolEndRecord(task_id="t", call_id=call, tool="edit_file", status="success", duration_ms=1))
    log.close()


def _median(work: Callable[[], None]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return sorted(times)[ROUNDS // 2]

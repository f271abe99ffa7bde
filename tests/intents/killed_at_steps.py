"""Kills a session at steps after it has changed a file; reports what the trace, `why` and `intents status` say then.

`python -m tests.intents.killed_at_steps ORIGINAL COPY CHANGED STEPS`: ORIGINAL has `home` and `workspace`; for each
step they are copied to COPY, a session is killed there after it has changed the file CHANGED, and then others look.
Forks of one process do the work, because imports take most of the time.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from robota.cli.main import main as robota
from tests.fuzz.kill.dying import Points

SESSION = ("-p", "go", "--permission-mode", "bypassPermissions")
STATUS = ("intents", "status", "--json")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session is killed: at the first step whose description has all these words; never without any.

    With `is_torn`, half of what it writes there is written. `first` are the commands that look first afterwards, at
    once.
    """

    words: tuple[str, ...] | None
    first: tuple[tuple[str, ...], ...]
    is_torn: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What there is after a kill. `trace` has Robota's own fields of the records about the file.

    `notes` are those about sessions that something may be missing of.
    """

    is_killed: bool
    codes: list[int]
    trace: list[dict[str, Any]]
    status: Any
    why: Any
    notes: list[str]


class Steps(Points):
    """Kills this process at a step."""

    def __init__(self, is_changed: Callable[[], bool], step: Step) -> None:
        super().__init__(-1, 0)
        self._is_changed, self._step = is_changed, step

    def pass_by(self, what: str, descriptor: int = -1, first_half: bytes = b"") -> None:
        with self._lock:
            opened = Path(f"/proc/self/fd/{descriptor}").readlink() if descriptor >= 0 else ""
            described = f"{what} {opened} {first_half.decode('utf-8', 'replace')}"
            words = self._step.words
            if words is not None and self._is_changed() and all(word in described for word in words):
                if self._step.is_torn:
                    self._write(descriptor, first_half)
                os.kill(os.getpid(), signal.SIGKILL)

    def fsync(self, descriptor: Any) -> None:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        self.pass_by(f"fsync {number}", number)
        self._fsync(descriptor)


def main() -> None:
    original, copy, changed, steps = sys.argv[1:]
    place = Path(copy)
    os.environ.update({"HOME": f"{place}/home", "ROBOTA_HOME": f"{place}/home/.robota"})
    reports = [killed(original, place, changed, step) for step in msgspec.json.decode(steps, type=list[Step])]
    print(msgspec.json.encode(reports).decode())


def killed(original: str, place: Path, changed: str, step: Step) -> Report:
    """Kill a session at a step, and look."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(original, place)
    os.chdir(place / "workspace")
    before = content(Path(changed))
    status = ended(forked(SESSION, place / "out", Steps(lambda: content(Path(changed)) != before, step)))
    assert content(Path(changed)) != before, (step, (place / "out").read_text())
    say_only_done(place / "home/.robota/settings.json")
    looking = [forked(each, place / f"out-{number}") for number, each in enumerate(step.first)]
    return Report(
        is_killed=status == signal.SIGKILL,
        codes=[ended(each) for each in looking],
        trace=trace_of(place / "workspace", changed),
        status=output_of(STATUS, place),
        why=output_of(("why", "--json", f"{changed}:1"), place),
        notes=[each.name for each in (place / "home/.robota/traces/sessions").glob("*/*")],
    )


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def forked(arguments: tuple[str, ...], output: Path, steps: Steps | None = None) -> int:
    """The process id of a fork that runs `robota`."""
    pid = os.fork()
    if pid == 0:
        try:
            printed = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(printed, 1)
            os.dup2(printed, 2)
            if steps is not None:
                steps.put_in_place()
            code = robota(list(arguments))
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001 - nothing of the parent may run in the fork
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(code)
    return pid


def ended(pid: int) -> int:
    """The exit status of a fork: the number of the signal that killed it in the lower bits."""
    return os.waitpid(pid, 0)[1]


def output_of(arguments: tuple[str, ...], place: Path) -> Any:
    code = ended(forked(arguments, place / "out"))
    return json.loads((place / "out").read_text()) if code == 0 else None


def say_only_done(settings: Path) -> None:
    """Let the sessions that follow change nothing."""
    content = json.loads(settings.read_text())
    content["providers"]["script"]["options"]["turns"] = [{"text": "Done."}]
    settings.write_text(json.dumps(content))


def trace_of(workspace: Path, changed: str) -> list[dict[str, Any]]:
    """Robota's own fields of the records about the file. The half line of a killed writer is no record."""
    found = []
    trace = workspace / ".orchestration/agent_trace.jsonl"
    for line in trace.read_text().splitlines() if trace.exists() else []:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["files"][0]["path"] == changed:
            found.append(record["metadata"]["dev.robota"])
    return found


if __name__ == "__main__":
    main()

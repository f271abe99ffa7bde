"""Which of our files one warm turn runs through: a read, a write, and a command; the write also in the terminal UI.

`python -m benchmarks.turn_files` prints the list. A file counts if one of its functions is called, in any thread,
between the end of one tool call and the end of the next.
"""

import asyncio
import os
import pty
import subprocess
import sys
import termios
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

import robota
from benchmarks.bench import ROOT, Bench, bench
from benchmarks.measurement import Measurement
from robota.app.session import OpenSession, open_session
from robota.cli.run.conversation import converse_here
from robota.clients.tui.flows.typing_pause import QUIET_S
from robota.config.launch_options import LaunchOptions
from robota.protocol.asks.kinds import APPROVAL_ASKS
from robota.protocol.commands import AskResponse, NewTask
from robota.protocol.events import MessageCreated, ToolEnd

SOURCE = str(Path(robota.__file__).parent) + os.sep
CTRL_D = b"\x04"
# Before the traced turn everything that is imported or looked up once has been.
WARM_TURNS = 3
CALLS = {
    "read": [{"name": "read_file", "args": {"path": f"note{n}.txt"}} for n in range(WARM_TURNS + 2)],
    "approved write": [
        {"name": "write_to_file", "args": {"path": f"made{n}.txt", "content": f"{n}\n"}} for n in range(WARM_TURNS + 2)
    ],
    "approved command": [
        {"name": "execute_command", "args": {"command": f"echo {n} > made.txt"}} for n in range(WARM_TURNS + 2)
    ],
}
# The same approved write, with the terminal UI drawing it and a key approving it.
DRAWN = "approved write, in the terminal UI"
# A tenth to a fifth fewer than today: a goal for whoever shortens the way. `MAX_FILES` is what no change may exceed.
TARGETS = {"read": 36, "approved write": 60, "approved command": 66, DRAWN: 100}
MAX_FILES = {"read": 45, "approved write": 79, "approved command": 92, DRAWN: 132}  # a thread that is late adds some

Approve = Callable[[OpenSession, int], Awaitable[None]]


def turn_files(place: Bench) -> list[Measurement]:
    """How many files a reader has to open to follow one turn."""
    return [
        Measurement(name=f"files of a turn: {name}", value=len(files), target=TARGETS[name], unit="files", detail="")
        for name, files in trace(place).items()
    ]


def trace(place: Bench) -> dict[str, list[str]]:
    """The files of one turn of each kind, relative to the package."""
    for number in range(WARM_TURNS + 2):
        (place.workspace / f"note{number}.txt").write_text(f"note {number}\n")
    engine = {name: asyncio.run(_in_the_engine(place, calls)) for name, calls in CALLS.items()}
    for made in place.workspace.glob("made*.txt"):
        made.unlink()  # a file that exists would be refused: it has not been read
    _play(place, CALLS["approved write"])
    command = [sys.executable, "-m", "benchmarks.turn_files", str(place.workspace)]
    env = {**place.env, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
    drawn = subprocess.run(command, env=env, stdout=subprocess.PIPE, start_new_session=True, check=True)
    return {**engine, DRAWN: drawn.stdout.decode().splitlines()}


def _play(place: Bench, calls: list[dict[str, Any]]) -> None:
    script = place.workspace / "turns.json"
    script.write_bytes(msgspec.json.encode([*({"calls": [call]} for call in calls), {"text": "Done."}]))
    place.play(f"script:{script}")


async def _in_the_engine(place: Bench, calls: list[dict[str, Any]]) -> list[str]:
    """Run a task that makes one of the calls in every turn, approve what is asked, trace one turn in its middle."""

    async def approve(opened: OpenSession, ask: int) -> None:
        await opened.session.submit(AskResponse(ask_response="yesButtonClicked", ts=ask))

    _play(place, calls)
    with Tracer() as tracer:
        opened = open_session(LaunchOptions(cwd=place.workspace), place.env)
        try:
            await opened.session.submit(NewTask(text="Go."))
            await _follow(opened, tracer, approve)
        finally:
            await opened.close()
    return sorted(tracer.files)


async def _in_the_terminal(workspace: Path, keyboard: int) -> list[str]:
    """The same in the terminal UI, on the terminal of this process; `keyboard` is its other end."""

    async def approve(opened: OpenSession, ask: int) -> None:
        await asyncio.sleep(2 * QUIET_S)  # a card takes no key that may have been meant for something else
        os.write(keyboard, b"y")

    with Tracer() as tracer:
        opened = open_session(LaunchOptions(cwd=workspace), os.environ)
        try:
            conversation = asyncio.create_task(converse_here(opened, "Go.", plain=False))
            await _follow(opened, tracer, approve)
            os.write(keyboard, CTRL_D)
            await conversation
        finally:
            await opened.close()
    return sorted(tracer.files)


async def _follow(opened: OpenSession, tracer: "Tracer", approve: Approve) -> None:
    """Approve until the task has ended; trace one turn."""
    ended = 0
    async for event in opened.session.events():
        if isinstance(event, ToolEnd):
            ended += 1
            tracer.is_on = ended == WARM_TURNS
        elif isinstance(event, MessageCreated) and event.message.ask in APPROVAL_ASKS:
            await approve(opened, event.message.ts)
        elif isinstance(event, MessageCreated) and event.message.ask is not None:
            break
    assert ended == WARM_TURNS + 2, f"{ended} calls ended"


class Tracer:
    """Notes the files whose functions are called, in this thread and in those that are started meanwhile."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.is_on = False

    def __enter__(self) -> "Tracer":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self.is_on = False
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, happening: str, _argument: Any) -> None:
        if self.is_on and happening == "call" and (name := frame.f_code.co_filename).startswith(SOURCE):
            self.files.add(name.removeprefix(SOURCE))


def _own_terminal() -> int:
    """Give this process a terminal, whose output is discarded; returns the end at which keys are typed."""
    keyboard, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        os.dup2(terminal, stream.fileno())

    def discard() -> None:
        while os.read(keyboard, 65536):
            pass

    threading.Thread(target=discard, daemon=True).start()
    return keyboard


def _print_drawn(workspace: Path) -> None:
    """Print the files of a turn in the terminal UI to where the standard output was."""
    report = os.dup(sys.stdout.fileno())
    keyboard = _own_terminal()
    os.write(report, "\n".join(asyncio.run(_in_the_terminal(workspace, keyboard))).encode())


def main() -> None:
    with bench() as place:
        for name, files in trace(place).items():
            print(f"{name}: {len(files)} files (target {TARGETS[name]})")
            print(*(f"  {file}" for file in files), sep="\n")


if __name__ == "__main__":
    _print_drawn(Path(sys.argv[1])) if sys.argv[1:] else main()

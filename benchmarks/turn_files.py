"""Which of our files one warm turn runs through: a read, a write, and a command, as the engine runs them.

`python -m benchmarks.turn_files` prints the list. A file counts if one of its functions is called, in any thread,
between the end of one tool call and the end of the next.
"""

import asyncio
import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

import robota
from benchmarks.bench import Bench, bench
from benchmarks.measurement import Measurement
from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.protocol.asks.kinds import APPROVAL_ASKS
from robota.protocol.commands import AskResponse, NewTask
from robota.protocol.events import MessageCreated, ToolEnd

SOURCE = str(Path(robota.__file__).parent) + os.sep
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
# A tenth to a fifth fewer than today: a goal for whoever shortens the way. `MAX_FILES` is what no change may exceed.
TARGETS = {"read": 36, "approved write": 60, "approved command": 66}
MAX_FILES = {"read": 43, "approved write": 78, "approved command": 86}  # a thread that is late adds one or two


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
    return {name: asyncio.run(files_of_a_turn(place, calls)) for name, calls in CALLS.items()}


async def files_of_a_turn(place: Bench, calls: list[dict[str, Any]]) -> list[str]:
    """Run a task that makes one of the calls in every turn, approve what is asked, trace one turn in its middle."""
    script = place.workspace / "turns.json"
    script.write_bytes(msgspec.json.encode([*({"calls": [call]} for call in calls), {"text": "Done."}]))
    place.play(f"script:{script}")
    with Tracer() as tracer:
        opened = open_session(LaunchOptions(cwd=place.workspace), place.env)
        ended = 0
        try:
            await opened.session.submit(NewTask(text="Go."))
            async for event in opened.session.events():
                if isinstance(event, ToolEnd):
                    ended += 1
                    tracer.is_on = ended == WARM_TURNS
                elif isinstance(event, MessageCreated) and event.message.ask in APPROVAL_ASKS:
                    await opened.session.submit(AskResponse(ask_response="yesButtonClicked", ts=event.message.ts))
                elif isinstance(event, MessageCreated) and event.message.ask is not None:
                    break
        finally:
            await opened.close()
    assert ended == len(calls), f"{ended} calls ended, not {len(calls)}"
    return sorted(tracer.files)


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


def main() -> None:
    with bench() as place:
        for name, files in trace(place).items():
            print(f"{name}: {len(files)} files (target {TARGETS[name]})")
            print(*(f"  {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main()

"""What is told while something takes long."""

import asyncio
import io

from robota.clients.plain.still_running import StillRunning, WaitNotice
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.view.model import ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.events import Event, MessageCreated, PartialMessage, TaskAskResponded, ToolEnd, ToolStart
from robota.protocol.message import Message

TASK = "task-1"
AT_ONCE = WaitNotice(words="still running", seconds=(0, 0, 3600))
START = ToolStart(task_id=TASK, call_id="a", tool="execute_command", label="Bash", first_arg="x", input={})
END = ToolEnd(task_id=TASK, call_id="a", tool="execute_command", label="Bash", first_arg="x", status="success")
ASK = MessageCreated(task_id=TASK, message=Message(ts=1, type="ask", ask="command", text="x", call_id="a"))
ANSWERED = TaskAskResponded(task_id=TASK, ts=1, response="yesButtonClicked")


def output(text: str) -> tuple[Event, Event]:
    row = Message(ts=2, type="say", say="command_output", text=text[:3], partial=True, call_id="a")
    return MessageCreated(task_id=TASK, message=row), PartialMessage(task_id=TASK, ts=2, delta=text[3:])


def printed_lines(*events: Event) -> list[str]:
    screen = io.StringIO()

    async def play() -> None:
        view = ViewModel()
        handlers = StillRunning(LineWriter(screen), lambda: view, AT_ONCE).handlers
        for event in events:
            view = reduce(view, event)
            if type(event) in handlers:
                handlers[type(event)](event)
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(play())
    return [line.strip() for line in screen.getvalue().splitlines()]


def test_a_call_that_is_silent_is_told_to_go_on() -> None:
    assert printed_lines(START) == ["(still running, 0 s)"] * 2


def test_of_output_the_last_line_is_told() -> None:
    assert printed_lines(START, *output("first\n 10 %\r 20 %\r\n\n")) == ["|  20 %  (0 s)"] * 2


def test_nothing_is_told_of_what_has_ended_or_waits_for_a_user() -> None:
    assert printed_lines(START, END) == []
    assert printed_lines(START, ASK) == []
    assert printed_lines(START, ASK, ANSWERED) == ["(still running, 0 s)"] * 2

"""The conversation against an engine that plays a script."""

import asyncio
import io
import os
import pty
import signal
from functools import partial

from robota.clients.plain.client import Terminal, converse
from robota.clients.terminal.editor import NotEdited
from robota.protocol.commands import Accepted, CancelTask, NewTask, Receipt, RunSlashCommand
from robota.protocol.events import MessageCreated, MessageUpdated, TaskAborted, TaskAskResponded, TextDelta
from robota.protocol.message import Message
from robota.protocol.slash_commands import CommandStarted
from tests.clients.scripted_peer import Await, Do, ScriptedSession, Step
from tests.clients.stories import TASK, state

PROMPT = MessageCreated(task_id=TASK, message=Message(ts=1, type="say", say="text", text="go"))

COMPLETED = Message(ts=2, type="ask", ask="completion_result", text="")


async def no_editor(text: str) -> NotEdited:
    return NotEdited("There is none.")


def talk(*steps: Step | str) -> str:
    """Play the steps, where a string is typed, until the user has left; what was shown."""
    ours, theirs = pty.openpty()
    played = [Do(partial(type_in, ours, step)) if isinstance(step, str) else step for step in steps]

    async def run() -> str:
        receipts: dict[type, Receipt] = {RunSlashCommand: Accepted(outcome=CommandStarted())}
        session = ScriptedSession([state(), Await(NewTask), PROMPT, *played], receipts=receipts)
        screen = io.StringIO()
        terminal = Terminal(input=theirs, out=screen, edit=no_editor)
        assert await converse(session, "go", terminal) == 0
        return screen.getvalue()

    try:
        return asyncio.run(run())
    finally:
        os.close(ours)
        os.close(theirs)


def type_in(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def test_after_a_task_that_ended_by_an_error_the_next_one_can_be_said() -> None:
    failed = MessageCreated(task_id=TASK, message=Message(ts=2, type="say", say="error", text="Robota failed: odd"))
    assert talk(failed, TaskAborted(task_id=TASK), "\x04") == "! Robota failed: odd\n> \n"


def test_ctrl_c_stops_what_queued_words_began() -> None:
    """Queued words follow an answer at once, so a task runs although the prompt was just shown."""
    words = Message(ts=3, type="say", say="text", text="one\ntwo\n")
    screen = talk(
        MessageCreated(task_id=TASK, message=COMPLETED),
        TaskAskResponded(task_id=TASK, ts=COMPLETED.ts, response="messageResponse"),
        MessageCreated(task_id=TASK, message=words),
        Do(partial(os.kill, os.getpid(), signal.SIGINT)),
        Await(CancelTask),
        MessageCreated(task_id=TASK, message=Message(ts=4, type="ask", ask="completion_result", text="")),
        "\x04",
    )
    assert screen == "one\ntwo\n^C\n\n> \n"


def test_ctrl_c_stops_the_shortening_of_a_conversation() -> None:
    screen = talk(
        MessageCreated(task_id=TASK, message=COMPLETED),
        "/compact\n",
        Await(RunSlashCommand),
        Do(partial(os.kill, os.getpid(), signal.SIGINT)),
        Await(CancelTask),
        MessageCreated(task_id=TASK, message=Message(ts=4, type="ask", ask="completion_result", text="")),
        "\x04",
    )
    assert "(press Ctrl+C again" not in screen


def test_an_answer_whose_first_words_are_held_back_is_shown() -> None:
    """The row begins empty, because its words could have become a key."""
    row = Message(ts=2, type="say", say="text", text="", partial=True)
    finished = Message(ts=2, type="say", say="text", text="npm", partial=False)
    for between in ((), (TextDelta(task_id=TASK, ts=2, delta="npm"),)):
        screen = talk(
            MessageCreated(task_id=TASK, message=row),
            *between,
            MessageUpdated(task_id=TASK, message=finished),
            MessageCreated(task_id=TASK, message=Message(ts=3, type="ask", ask="completion_result", text="")),
            "\x04",
        )
        assert screen == "npm\n\n> \n"


def test_why_a_conversation_was_not_shortened_is_told() -> None:
    begun = Message(ts=3, type="say", say="condense_context", partial=True)
    why = "The conversation was not condensed and stays as it is: there is not enough of it yet."
    screen = talk(
        MessageCreated(task_id=TASK, message=Message(ts=2, type="ask", ask="completion_result", text="")),
        "/compact\n",
        Await(RunSlashCommand),
        MessageCreated(task_id=TASK, message=begun),
        MessageUpdated(task_id=TASK, message=Message(ts=3, type="say", say="condense_context_error", text=why)),
        MessageCreated(task_id=TASK, message=Message(ts=4, type="ask", ask="completion_result", text="")),
        "\x04",
    )
    assert why in screen and screen.count("> ") == 2


def test_what_a_rule_denied_is_told_once() -> None:
    denied = Message(ts=2, type="say", say="error", text="Not allowed: edit_file: outside", call_id="a")
    screen = talk(
        MessageCreated(task_id=TASK, message=denied),
        MessageCreated(task_id=TASK, message=Message(ts=4, type="ask", ask="completion_result", text="")),
        "\x04",
    )
    assert "Not allowed" not in screen

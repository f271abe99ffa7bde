"""A conversation at a terminal, line by line: prompts in, answers out, every ask put to the person."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec

from robota.clients.lines.diagnostics import BOLD, DIM, RED, Diagnostics
from robota.clients.lines.safe_text import TextOutput
from robota.clients.lines.signals import signals_to
from robota.clients.plain.answers import HINT, Again, ChangeIt, ShowAll, changed_input, meaning_of
from robota.clients.plain.console import Console
from robota.clients.plain.orders import HELP, order_in
from robota.clients.plain.permission import Line, Shown, choices_of, cut, reasons_of, subject_of
from robota.clients.plain.talk import answer_to, words_for
from robota.clients.plain.transcript import Transcript
from robota.protocol.asks import is_non_blocking_ask
from robota.protocol.commands import AskResponse, CancelTask, Command, NewTask, QueueMessage, Refused
from robota.protocol.events import Event, MessageCreated, TaskAskResponded, ToolStart
from robota.protocol.message import Message
from robota.protocol.port import SessionPort

PERMISSIONS: Final = frozenset({"command", "tool", "use_mcp_server", "browser_action_launch"})
# Of each tool the argument that a person may want to change before it runs.
CHANGEABLE: Final = ("command", "content", "new_string", "patch", "diff", "url")

# Lets the person change a text in an editor; None if there is none, or they changed their mind.
EditText = Callable[[str], Awaitable[str | None]]


class Terminal(msgspec.Struct, frozen=True, kw_only=True):
    """What the client is given of the machine."""

    input: int
    out: TextOutput
    err: TextOutput
    edit: EditText


async def converse(session: SessionPort, prompt: str | None, terminal: Terminal) -> int:
    """Talk until the person leaves; returns the exit code."""
    conversation = Conversation(session, terminal)
    with signals_to(conversation.interrupt), conversation.console.reading():
        return await conversation.run(prompt)


class Conversation:
    """One person, one session."""

    def __init__(self, session: SessionPort, terminal: Terminal) -> None:
        self._session = session
        self._edit = terminal.edit
        self._lines = Diagnostics(terminal.err)
        self._transcript = Transcript(terminal.out, self._lines)
        self._handlers = self._transcript.handlers
        self._out = terminal.out
        self.console = Console(terminal.input, self._queue)
        self._inputs: dict[str, dict[str, Any]] = {}
        self._asking: asyncio.Task[None] | None = None
        self._jobs: set[asyncio.Task[Any]] = set()
        self._over: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pressed = False

    async def run(self, prompt: str | None) -> int:
        self._start(self._follow(prompt))
        try:
            return await self._over
        finally:
            for job in list(self._jobs):
                job.cancel()

    def interrupt(self, number: signal.Signals) -> None:
        """Ctrl-C stops what runs; once more, or where nothing runs, it leaves."""
        if number is not signal.SIGINT or self._pressed:
            self._leave(128 + number)
            return
        self._pressed = True
        self._lines.line("")
        self._start(self._cancel())

    async def _cancel(self) -> None:
        if isinstance(await self._session.submit(CancelTask()), Refused):
            self._lines.line("(Ctrl-C again or Ctrl-D leaves)", DIM)

    async def _follow(self, prompt: str | None) -> None:
        events = self._session.events()
        await anext(events)
        self._put(self._next_task(prompt))
        async for event in events:
            self._take(event)
        self._leave(0)

    def _take(self, event: Event) -> None:
        handle = self._handlers.get(type(event))
        if isinstance(event, ToolStart):
            self._inputs[event.call_id] = event.input
        if handle is not None:
            handle(event)
        if isinstance(event, MessageCreated) and event.message.ask and not is_non_blocking_ask(event.message.ask):
            self._put(self._question(event.message))
        elif isinstance(event, TaskAskResponded):
            self._pressed = False

    def _put(self, question: Coroutine[Any, Any, None]) -> None:
        """Ask this from now on, and nothing that was asked before."""
        if self._asking is not None:
            self._asking.cancel()
        self._asking = self._start(question)

    async def _question(self, ask: Message) -> None:
        if ask.ask in PERMISSIONS:
            await self._submit(await self._permission(ask))
            return
        if ask.ask == "completion_result":
            self._transcript.cost()
        self._lines.gap()
        for words in words_for(ask):
            self._lines.prose(words, BOLD if words.startswith("?") else None, indent="  ")
        answer = None
        while answer is None:
            typed = await (self._typed_text() if ask.ask == "completion_result" else self._typed_answer())
            answer = None if typed is None else answer_to(ask, typed)
        await self._submit(answer)
        if answer.ask_response == "noButtonClicked":
            await self._next_task()  # that was the end of this one

    async def _permission(self, ask: Message) -> AskResponse:
        shown, arguments = subject_of(ask), self._inputs.get(ask.call_id or "", {})
        changeable = next((name for name in CHANGEABLE if isinstance(arguments.get(name), str)), None)
        self._show(ask, shown, cut(shown), can_change=changeable is not None)
        while True:
            typed = await self._typed_answer()
            meaning = Again(HINT) if typed is None else meaning_of(typed, ask, shown.hunks)
            if isinstance(meaning, AskResponse):
                return meaning
            if isinstance(meaning, ShowAll):
                self._show(ask, shown, shown.lines, can_change=changeable is not None)
            elif isinstance(meaning, ChangeIt) and changeable is not None:
                with self.console.lent():
                    changed = await self._edit(arguments[changeable])
                if changed is not None and changed != arguments[changeable]:
                    return changed_input(ask, {**arguments, changeable: changed})
                self._lines.line("Nothing was changed.", DIM)
            else:
                self._lines.prose(meaning.hint if isinstance(meaning, Again) else HINT, DIM)

    def _show(self, ask: Message, shown: Shown, lines: tuple[Line, ...], *, can_change: bool) -> None:
        for line in (*lines, *reasons_of(ask), *choices_of(ask, shown.hunks, can_change=can_change)):
            self._lines.line(line.text, line.colour)

    async def _typed_answer(self) -> str | None:
        """A line typed from now on: what was typed before the question is no answer to it."""
        self.console.forget()
        return await self._typed(self.console.line)

    async def _typed_text(self) -> str | None:
        return await self._typed(self.console.text)

    async def _typed(self, read: Callable[[], Awaitable[str | None]]) -> str | None:
        """What the person typed; None if it was an order to us. The end of the input is the end of everything."""
        self._out.write("> ")
        self._out.flush()
        typed = await read()
        if typed is None:
            self._lines.line("")
            self._leave(0)
            await asyncio.Future()  # until this is cancelled with everything else
        self._pressed = False
        assert typed is not None
        order = order_in(typed)
        if order is None:
            return typed
        await self._obey(order)
        return None

    async def _obey(self, order: Command | str) -> None:
        if order == "quit":
            self._leave(0)
        elif isinstance(order, str):
            self._lines.line(HELP if order == "help" else order)
        else:
            await self._submit(order)

    async def _next_task(self, prompt: str | None = None) -> None:
        while True:
            typed = prompt if prompt is not None else await self._typed_text()
            if typed is not None and typed.strip() and await self._submit(NewTask(text=typed)):
                return
            prompt = None

    async def _submit(self, command: Command) -> bool:
        """Whether the session took it; if not, the person learns why."""
        receipt = await self._session.submit(command)
        if isinstance(receipt, Refused):
            self._lines.prose(f"! {receipt.message}", RED)
        return not isinstance(receipt, Refused)

    def _queue(self, line: str) -> None:
        """Words typed while the agent works wait their turn."""
        order = order_in(line)
        if order is not None:
            self._start(self._obey(order))
        elif line.strip():
            self._lines.line("(queued: it is read when the agent is next to be told something)", DIM)
            self._start(self._submit(QueueMessage(text=line)))

    def _start(self, job: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """A part that fails must not leave a person waiting for nothing."""
        self._jobs.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._over.done():
            self._over.set_exception(error)

    def _leave(self, code: int) -> None:
        if not self._over.done():
            self._over.set_result(code)

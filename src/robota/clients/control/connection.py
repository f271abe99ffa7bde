"""The connection to the program: it sends prompts and control requests, and responds to ours."""

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any, Final

import msgspec

from robota.clients.headless.output import Output
from robota.clients.headless.result import new_uuid

# No more lines are read while this many prompts are waiting.
MAX_PROMPTS: Final = 1_000
LATER: Final = "later"
NOBODY: Final = "The program that started the session no longer answers."

Handle = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class RequestRefused(Exception):
    """A control request cannot be carried out, or the program answered one of ours with an error."""


class ProgramGone(RequestRefused):
    """The program has closed the connection, so there will be no response."""


class UserLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line with a prompt."""

    message: dict[str, Any]
    uuid: str = ""
    priority: str = "next"
    should_query: bool = msgspec.field(default=True, name="shouldQuery")
    client_composed: bool = False


class ControlConnection:
    """Reads the lines of the program until it sends no more. `follow` must be running for anything to happen."""

    def __init__(self, lines: AsyncIterator[bytes | str], output: Output) -> None:
        """An unreadable line is represented by a string that says what is wrong with it."""
        self._lines = lines
        self._output = output
        self._numbers = count(1)
        self._waiting: dict[str, Future[dict[str, Any]]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._prompts: deque[UserLine] = deque()
        self._context: list[str] = []
        self._changed = asyncio.Event()
        self._handle: Handle | None = None
        self._held: list[dict[str, Any]] = []
        self.initialize: dict[str, Any] | None = None  # the request, once it has come
        self._initialize_id = ""
        self.is_over = False
        self.on_urgent: Callable[[UserLine], bool] = lambda line: False

    async def follow(self) -> None:
        """Read until the program sends nothing more."""
        try:
            async for line in self._lines:
                self._take(line)
        finally:
            self._mark_as_over()

    def stop(self) -> None:
        """Discard the waiting prompts, and stop reading."""
        self._prompts.clear()
        self._mark_as_over()

    async def until_begun(self) -> None:
        """Return when the program has introduced itself, sent a prompt, or disconnected."""
        while self.initialize is None and not self._prompts and not self.is_over:
            await self._until_change()

    def begin(self, handle: Handle, welcome: dict[str, Any]) -> None:
        """Answer the first request, and from now on all others with `handle`."""
        if self.initialize is not None and self._handle is None:
            self._succeed(self._initialize_id, welcome)
        self._handle = handle
        held, self._held = self._held, []
        for request in held:
            self._start(request)

    async def next_prompt(self) -> UserLine | None:
        """The next prompt; None if there will be none."""
        while not self._prompts:
            if self.is_over:
                return None
            await self._until_change()
        return self._prompts.popleft()

    def put_back(self, prompt: UserLine) -> None:
        """Put a prompt back, so that it is the next one again."""
        self._prompts.appendleft(prompt)

    @property
    def has_prompt(self) -> bool:
        """Whether a prompt is waiting."""
        return bool(self._prompts)

    @property
    def waiting_prompts(self) -> list[str]:
        """The ids of the prompts that wait, in their order."""
        return [prompt.uuid for prompt in self._prompts]

    def forget_prompts(self, *uuids: str) -> list[str]:
        """Forget the waiting prompts with these ids. Returns the ids of those that were waiting."""
        forgotten = [prompt.uuid for prompt in self._prompts if prompt.uuid in uuids]
        self._prompts = deque(prompt for prompt in self._prompts if prompt.uuid not in forgotten)
        return forgotten

    def take_context(self) -> str:
        """The texts that the program has added to the conversation without wanting an answer, once."""
        context, self._context = "\n\n".join(self._context), []
        return context

    async def request(self, subtype: str, **fields: Any) -> dict[str, Any]:
        """Send the program a request, and wait for the response as long as it takes. Raises `RequestRefused`.

        If the caller is cancelled, the program is told so.
        """
        if self.is_over:
            raise ProgramGone(NOBODY)
        id = f"robota_{next(self._numbers)}"
        answer: Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[id] = answer
        self.send({"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}})
        try:
            return await answer
        except asyncio.CancelledError:
            self.send({"type": "control_cancel_request", "request_id": id})
            raise
        finally:
            del self._waiting[id]

    def send(self, line: dict[str, Any]) -> None:
        """Write a line."""
        self._output.json_line(line)

    def _mark_as_over(self) -> None:
        self.is_over = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ProgramGone(NOBODY))
        self._changed.set()

    async def _until_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _take(self, line: bytes | str) -> None:
        if isinstance(line, str):
            self.complain(line)
            return
        try:
            read: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.complain(f"This line is not JSON, and was ignored: {error}.")
            return
        match read:
            case {"type": "user"}:
                self._take_prompt(read)
            case {"type": "control_request", "request_id": str(), "request": {"subtype": str()}}:
                self._take_request(read)
            case {"type": "control_response", "response": {"request_id": str(id), "subtype": str()}}:
                self._settle(id, read["response"])
            case {"type": "control_cancel_request", "request_id": str(id)}:
                if id in self._running:
                    self._running[id].cancel()
            case {"type": "keep_alive" | "update_environment_variables"}:
                pass
            case _:
                self.complain("This line is neither a prompt nor a control request or response, and was ignored.")

    def _take_prompt(self, read: dict[str, Any]) -> None:
        try:
            line = msgspec.convert(read, UserLine)
        except msgspec.ValidationError as error:
            self.complain(f"This prompt was ignored: {error}.")
            return
        if self.is_over or self.on_urgent(line):
            return
        if not line.should_query:
            self._context.append(words_and_images(line.message.get("content"))[0])
        elif len(self._prompts) >= MAX_PROMPTS:
            self.complain(f"This prompt was ignored: {MAX_PROMPTS:,} others are waiting.")
        else:
            self._prompts.insert(self._place_of(line), msgspec.structs.replace(line, uuid=line.uuid or new_uuid()))
            self._changed.set()

    def _place_of(self, line: UserLine) -> int:
        """Where a prompt waits: before those that are for later, if it is not."""
        if line.priority == LATER:
            return len(self._prompts)
        return next((i for i, each in enumerate(self._prompts) if each.priority == LATER), len(self._prompts))

    def _take_request(self, read: dict[str, Any]) -> None:
        if read["request"]["subtype"] == "initialize" and self.initialize is None and self._handle is None:
            self.initialize, self._initialize_id = read["request"], read["request_id"]
            self._changed.set()
        elif self._handle is None:
            self._held.append(read)
        else:
            self._start(read)

    def _start(self, read: dict[str, Any]) -> None:
        id = read["request_id"]
        task = self._running[id] = asyncio.create_task(self._carry_out(id, read["request"]))
        task.add_done_callback(lambda done: self._running.pop(id, None))

    async def _carry_out(self, id: str, request: dict[str, Any]) -> None:
        assert self._handle is not None
        try:
            self._succeed(id, await self._handle(request))
        except RequestRefused as refusal:
            self._respond({"subtype": "error", "request_id": id, "error": str(refusal)})

    def _succeed(self, id: str, response: dict[str, Any]) -> None:
        self._respond({"subtype": "success", "request_id": id, "response": response})

    def _respond(self, response: dict[str, Any]) -> None:
        self.send({"type": "control_response", "response": response})

    def _settle(self, id: str, answer: dict[str, Any]) -> None:
        waiting = self._waiting.get(id)
        if waiting is None or waiting.done():
            return  # the request was cancelled, or never sent
        response = answer.get("response")
        if answer["subtype"] == "success":
            waiting.set_result(response if isinstance(response, dict) else {})
        else:
            waiting.set_exception(RequestRefused(str(answer.get("error", "The program answered with an error."))))

    def complain(self, problem: str) -> None:
        """Tell the program what could not be done."""
        self.tell(problem, level="warning")

    def tell(self, text: str, level: str = "info") -> None:
        """Tell the program something that is no answer to a request."""
        self.send({"type": "system", "subtype": "informational", "content": text, "level": level})


def words_and_images(content: Any) -> tuple[str, tuple[str, ...]]:
    """The text and the images of a prompt, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content, ()
    texts, images = [], []
    for block in content if isinstance(content, list) else ():
        match block:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
                images.append(f"data:{kind};base64,{data}")
            case _:
                pass
    return "\n\n".join(texts), tuple(images)

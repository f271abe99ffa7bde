"""Event sequences as the engine promises them, built from the real protocol types."""

from typing import Any

from robota.protocol.asks.ask import Ask, Fault
from robota.protocol.commands import CancelTask, NewTask
from robota.protocol.conversation import (
    AssistantBlock,
    AssistantTurn,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    PartialMessage,
    SessionState,
    State,
    TaskCreated,
    TaskStarted,
    TaskTokenUsageUpdated,
    TextDelta,
    Thinking,
    TokenUsage,
    ToolCallDelta,
    ToolEnd,
    ToolStart,
    TurnReply,
    TurnResults,
)
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.views import View
from tests.clients.scripted_peer import Await, Step

TASK = "task-1"
MODEL = "model-x"
REQUEST_USAGE = Usage(input_tokens=10, output_tokens=5, cache_read_input_tokens=3)
REQUEST_COST = 0.25


def state(*rows: Message) -> State:
    return State(
        state=SessionState(
            session_id="session-1",
            cwd="/repo",
            model=MODEL,
            mode="code",
            permission_mode=PermissionMode.DEFAULT,
            tools=("read_file", "execute_command"),
            cline_messages=rows,
        )
    )


class Story:
    """Collects steps; every row gets the next `ts`."""

    def __init__(self, prompt: str = "the prompt", first_ts: int = 1, before: tuple[Message, ...] = ()) -> None:
        self._ts = first_ts - 1
        self._requests = 0
        self.steps: list[Step] = [state(*before), Await(NewTask)]
        self.add(TaskCreated(task_id=TASK), TaskStarted(task_id=TASK))
        self.say("text", prompt)

    def add(self, *steps: Step) -> "Story":
        self.steps.extend(steps)
        return self

    def row(self, **fields: Any) -> int:
        self._ts += 1
        self.add(MessageCreated(task_id=TASK, message=Message(ts=self._ts, **fields)))
        return self._ts

    def change(self, ts: int, **fields: Any) -> "Story":
        return self.add(MessageUpdated(task_id=TASK, message=Message(ts=ts, **fields)))

    def say(self, kind: str, text: str) -> "Story":
        self.row(type="say", say=kind, text=text)
        return self

    def ask(self, kind: str, text: str = "", fault: Fault | None = None, asked: Ask | None = None) -> "Story":
        self.row(type="ask", ask=kind, text=text, fault=fault, asked=asked)
        return self

    def reply(self, *pieces: str, thought: str = "", calls: tuple[ToolUseBlock, ...] = ()) -> "Story":
        """One request and its whole answer."""
        request = self.begin_request()
        if thought:
            self.stream("reasoning", thought)
        if pieces:
            self.stream("text", *pieces)
        for call in calls:
            self.write_call(call)
        return self.end_request(request, "".join(pieces), thought, calls)

    def begin_request(self) -> int:
        request = self.row(type="say", say="api_req_started", text='{"apiProtocol":"openai"}')
        self.add(Thinking(task_id=TASK, is_thinking=True))
        return request

    def end_request(self, request: int, text: str, thought: str = "", calls: tuple[ToolUseBlock, ...] = ()) -> "Story":
        self._requests += 1
        self.add(Thinking(task_id=TASK, is_thinking=False))
        self.change(request, type="say", say="api_req_started", text=f'{{"cost":{REQUEST_COST}}}')
        total = Usage()
        for _ in range(self._requests):
            total = total + REQUEST_USAGE
        spent = TokenUsage(total_cost=REQUEST_COST * self._requests)
        self.add(TaskTokenUsageUpdated(task_id=TASK, token_usage=spent, usage=total))
        content: list[AssistantBlock] = []
        if thought:
            content.append(ThinkingBlock(thinking=thought))
        if text:
            content.append(TextBlock(text=text))
        turn = AssistantTurn(
            content=(*content, *calls),
            id=f"reply-{self._requests}",
            model=MODEL,
            stop_reason="tool_use" if calls else "end_turn",
            usage=REQUEST_USAGE,
        )
        return self.add(TurnReply(task_id=TASK, reply=turn))

    def stream(self, kind: str, *pieces: str, interrupted: bool | None = None, is_open: bool = False) -> int:
        ts = self.row(type="say", say=kind, text="", partial=True)
        for piece in pieces:
            self.add_delta(kind, ts, piece)
        if not is_open:
            self.change(ts, type="say", say=kind, text="".join(pieces), partial=False, interrupted=interrupted)
        return ts

    def add_delta(self, kind: str, ts: int, piece: str) -> "Story":
        shape = TextDelta if kind == "text" else PartialMessage
        return self.add(shape(task_id=TASK, ts=ts, delta=piece))

    def write_call(self, call: ToolUseBlock) -> "Story":
        for delta in ("", '{"path":', '"a"}'):
            self.add(ToolCallDelta(task_id=TASK, call_id=call.id, tool=call.name, delta=delta))
        return self

    def run(
        self, call: ToolUseBlock, status: str = "success", reason: str | None = None, view: View | None = None
    ) -> "Story":
        self.start(call)
        end = ToolEnd(
            task_id=TASK,
            call_id=call.id,
            tool=call.name,
            label="Read",
            first_arg="a",
            status=status,
            reason=reason,
            input=call.input,
            duration_ms=7,
            view=view,
        )
        return self.add(end)

    def start(self, call: ToolUseBlock) -> "Story":
        start = ToolStart(task_id=TASK, call_id=call.id, tool=call.name, label="Read", first_arg="a", input=call.input)
        return self.add(start)

    def results(self, *results: ToolResultBlock) -> "Story":
        return self.add(TurnResults(task_id=TASK, results=results))

    def until_cancelled(self) -> "Story":
        return self.add(Await(CancelTask))

    def done(self, text: str = "the answer") -> "Story":
        return self.reply(text).ask("completion_result")

    @property
    def events(self) -> list[Event]:
        return [step for step in self.steps if isinstance(step, Event)]


READ = ToolUseBlock(id="call-1", name="read_file", input={"path": "a"})
READ_RESULT = ToolResultBlock(tool_use_id="call-1", content="contents of a")

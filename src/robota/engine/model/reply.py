"""Reads one reply of the model: shows the stream as rows, collects the calls, and builds the complete `Reply`."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import Any, Final, Protocol, assert_never

import msgspec

from robota.contracts.tool import AnyTool, ToolCall
from robota.engine.record.journal import EventBus
from robota.engine.record.rows import Rows, StreamingRow
from robota.protocol.conversation import (
    AssistantBlock,
    AssistantTurn,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Turn,
    Usage,
    joined_texts,
)
from robota.protocol.events import ToolCallDelta
from robota.providers.chunks import (
    CallArgumentsChunk,
    CallStartChunk,
    Chunk,
    FinishChunk,
    TextChunk,
    ThinkingChunk,
    ToolSpec,
    UsageChunk,
)
from robota.providers.fault import FaultKind, ProviderFault
from robota.secrets.redaction import StreamRedactor
from robota.text.visible import with_whole_characters

# About a million tokens, which is more than any model says in one reply.
REPLY_CHARACTERS: Final = 4_000_000
REPLY_CALLS: Final = 1_000
# More than one request can use. What a server reports beyond is a mistake of the server.
MOST_TOKENS: Final = 100_000_000
MOST_DOLLARS: Final = 10_000
FIRST_ARGUMENT_LENGTH: Final = 200
ID_LENGTH: Final = 64
# A surrogate escape. Two make one character; one alone cannot be part of a path, a command or a file.
HALF_CHARACTER: Final = r"\\u[dD][89a-fA-F]"
# The first key, then a complete string, or a number or literal that is followed by something.
FIRST_VALUE: Final = r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*("(?:[^"\\]|\\.)*"|[^\s",\[\]{}]+(?=[\s,}]))'


class TextPiece(msgspec.Struct, frozen=True):
    """Text outside calls."""

    text: str


class CallOpenedPiece(msgspec.Struct, frozen=True):
    """A call began; its arguments follow."""

    id: str
    name: str


class ArgumentPiece(msgspec.Struct, frozen=True):
    """A parameter of the call is complete."""

    id: str
    tool: str
    value: str


class CallClosedPiece(msgspec.Struct, frozen=True):
    """A call is complete."""

    call: ToolCall


ReplyPiece = TextPiece | CallOpenedPiece | ArgumentPiece | CallClosedPiece


class TextReader(Protocol):
    """Looks for calls in the text of one reply."""

    def feed(self, text: str) -> Sequence[ReplyPiece]: ...

    def finish(self) -> Sequence[ReplyPiece]: ...


class CallFormat(Protocol):
    def offered(self, specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        """The tools that the request itself lists."""
        ...

    def instructions(self, specs: tuple[ToolSpec, ...]) -> str:
        """The section of the system prompt about the tools."""
        ...

    def outgoing(self, turn: Turn) -> Turn:
        """A turn of the history as it is sent. Called once per turn."""
        ...

    def reader(self, specs: tuple[ToolSpec, ...], new_id: Iterator[str], tools: Sequence[AnyTool] = ()) -> TextReader:
        """A reader for calls of the tools in `specs`, all of the session. `tools` know what other agents call them."""
        ...


class NativeCallFormat:
    """Native function calling, for which the provider parses the calls."""

    def offered(self, specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        return specs

    def instructions(self, specs: tuple[ToolSpec, ...]) -> str:
        return ""

    def outgoing(self, turn: Turn) -> Turn:
        return turn

    def reader(self, specs: tuple[ToolSpec, ...], new_id: Iterator[str], tools: Sequence[AnyTool] = ()) -> TextReader:
        return _PlainReader()


class _PlainReader:
    def feed(self, text: str) -> Sequence[ReplyPiece]:
        return (TextPiece(text),)

    def finish(self) -> Sequence[ReplyPiece]:
        return ()


class FirstArgument:
    """Extracts the first argument from JSON that is still streaming.

    It lets clients show which file is about to be written long before its content is complete.
    """

    def __init__(self) -> None:
        self._seen = ""
        self._done = False

    def feed(self, json_text: str) -> str | None:
        """The value, once, as soon as it is known; None before and after."""
        if self._done:
            return None
        self._seen += json_text
        match = re.match(FIRST_VALUE, self._seen)
        if match is None:
            self._done = len(self._seen) > 4 * FIRST_ARGUMENT_LENGTH
            return None
        self._done = True
        try:
            value: Any = json.loads(match.group(1))
        except ValueError:
            return None
        return value if isinstance(value, str) else match.group(1)


class CallDraft:
    """One call whose arguments are still streaming."""

    def __init__(self, id: str, given_id: str, name: str) -> None:
        self.id = id
        self.given_id = given_id
        self.name = name
        self._pieces: list[str] = []
        self._first = FirstArgument()

    def feed(self, json_text: str) -> str | None:
        self._pieces.append(json_text)
        return self._first.feed(json_text)

    def finish(self) -> ToolCall:
        arguments, problem = self._arguments("".join(self._pieces))
        return ToolCall(id=self.id, given_id=self.given_id, name=self.name, input=arguments, problem=problem)

    def _arguments(self, text: str) -> tuple[dict[str, Any], str | None]:
        if not self.name:
            return {}, "The call names no tool. Make it again with the name of a tool."
        try:
            arguments: Any = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            where = f" from character {error.pos + 1} on" if isinstance(error, json.JSONDecodeError) else ""
            began = f"Nothing was run. Write them again. They began: {text[:200]}"
            return {}, f"The arguments are not valid JSON{where}. {began}"
        if not isinstance(arguments, dict):
            return {}, "The arguments are JSON, but not an object. Nothing was run. Write them as an object."
        if re.search(HALF_CHARACTER, text) and with_whole_characters(arguments) != arguments:
            return {}, "The arguments contain half of a surrogate pair. Write the whole character."
        return arguments, None


class CallAssembler:
    """Collects the calls of one reply from their pieces, by index. Ids are made safe and unique."""

    def __init__(self, new_id: Iterator[str]) -> None:
        self._new_id = new_id
        self._drafts: dict[int, CallDraft] = {}
        self._ids: set[str] = set()

    def start(self, chunk: CallStartChunk) -> CallDraft:
        """Begin a call, or add its name: some servers repeat or delay id and name."""
        draft = self._drafts.get(chunk.index)
        if draft is None:
            draft = self._drafts[chunk.index] = CallDraft(self._unique(chunk.id), chunk.id, chunk.name)
        elif chunk.name and not draft.name:
            draft.name = chunk.name
        return draft

    def feed(self, chunk: CallArgumentsChunk) -> tuple[CallDraft, str | None]:
        draft = self._drafts.get(chunk.index)
        if draft is None:
            draft = self.start(CallStartChunk(index=chunk.index, id="", name=""))
        return draft, draft.feed(chunk.json)

    def _unique(self, id: str) -> str:
        clean = re.sub(r"[^A-Za-z0-9_-]", "_", id)[:ID_LENGTH]
        while not clean or clean in self._ids:
            clean = next(self._new_id)
        self._ids.add(clean)
        return clean


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A complete reply: the turn for the history, and its calls, valid or not."""

    turn: AssistantTurn
    calls: tuple[ToolCall, ...]

    @property
    def is_empty(self) -> bool:
        return not self.calls and not self.turn.text.strip()


class ReplyLength:
    """Counts the characters and calls of a reply and raises a fault for one that does not end."""

    def __init__(self) -> None:
        self._characters = 0
        self._calls = 0

    def count(self, chunk: Chunk) -> None:
        """Count a chunk of a reply in which every call starts with a chunk of its own."""
        match chunk:
            case TextChunk() | ThinkingChunk():
                self.add(chunk.text)
            case CallStartChunk():
                self.add_call(chunk.name)
            case CallArgumentsChunk():
                self.add(chunk.json)
            case UsageChunk() | FinishChunk():
                pass
            case _:
                assert_never(chunk)

    def add(self, text: str) -> None:
        self._characters += len(text)
        if self._characters > REPLY_CHARACTERS:
            raise _without_end(f"{REPLY_CHARACTERS:,} characters")

    @property
    def characters(self) -> int:
        """The characters so far."""
        return self._characters

    def add_call(self, name: str) -> None:
        """Count a call, which may have a name and no arguments."""
        self._calls += 1
        if self._calls > REPLY_CALLS:
            raise _without_end(f"{REPLY_CALLS:,} tool calls")
        self.add(name)


class ReplyReader:
    """Takes the chunks of a reply. Text and reasoning become rows at once; calls are collected until the end."""

    def __init__(
        self,
        rows: Rows,
        bus: EventBus,
        reader: TextReader,
        new_id: Iterator[str],
        normal: Callable[[ToolCall], ToolCall] = lambda call: call,
    ) -> None:
        """`normal` brings a call into its normal form, in which everything else sees it."""
        self._rows = rows
        self._normal = normal
        self._bus = bus
        self._reader = reader
        self._assembler = CallAssembler(new_id)
        self._written: list[AssistantBlock | ToolCall | CallDraft] = []
        self._row: StreamingRow | None = None
        self._row_kind = ""
        self._signature: str | None = None
        self._length = ReplyLength()
        self._arguments: dict[str, tuple[str, StreamRedactor]] = {}
        self.usage = Usage()
        self.cost: float | None = None
        self.saved: float | None = None  # by the provider's cache
        self.finish_reason: str | None = None
        self.has_begun = False  # whether anything of the reply has come

    def take(self, chunk: Chunk) -> None:
        self.has_begun = True
        match chunk:
            case TextChunk():
                self._length.add(chunk.text)
                self._take_pieces(self._reader.feed(chunk.text))
            case ThinkingChunk():
                self._length.add(chunk.text)
                self._signature = chunk.signature or self._signature
                self._grow("reasoning", chunk.text)
            case CallStartChunk():
                self._add_call(self._assembler.start(chunk))
            case CallArgumentsChunk():
                self._length.add(chunk.json)
                draft, first = self._assembler.feed(chunk)
                self._add_call(draft)
                self._announce_arguments(draft, chunk.json, first)
            case UsageChunk():
                if is_plausible(chunk):
                    self.usage, self.cost, self.saved = chunk.usage, chunk.cost, chunk.saved
            case FinishChunk():
                self.finish_reason = chunk.reason
            case _:
                assert_never(chunk)

    @property
    def length(self) -> int:
        """The characters of the reply so far."""
        return self._length.characters

    def finish(self, id: str, model: str) -> Reply:
        self._take_pieces(self._reader.finish())
        self._close_row()
        self._announce_held_arguments()
        items = without_duplicates([self._finished(item) for item in self._written])
        calls = tuple(item for item in items if isinstance(item, ToolCall))
        turn = AssistantTurn(
            content=tuple(_block(item) for item in items),
            id=id,
            model=model,
            stop_reason="tool_use" if calls and self.finish_reason == "end_turn" else self.finish_reason,
            usage=self.usage,
        )
        return Reply(turn=turn, calls=calls)

    def _finished(self, item: AssistantBlock | ToolCall | CallDraft) -> AssistantBlock | ToolCall:
        if isinstance(item, CallDraft):
            return self._normal(item.finish())
        return self._normal(item) if isinstance(item, ToolCall) else item

    def interrupted(self) -> str:
        """Close the rows of an interrupted reply; returns the text received so far."""
        if self._row is not None:
            self._close_row(interrupted=True)
        self._announce_held_arguments()
        return joined_texts(item.text for item in self._written if isinstance(item, TextBlock))

    def _take_pieces(self, pieces: Iterable[ReplyPiece]) -> None:
        for piece in pieces:
            match piece:
                case TextPiece():
                    self._grow("text", piece.text)
                case CallOpenedPiece():
                    self._length.add_call("")  # its name is a part of the text
                    self._announce(piece.id, piece.name)
                case ArgumentPiece():
                    self._announce(piece.id, piece.tool, first=piece.value)
                case CallClosedPiece():
                    self._close_row()
                    self._written.append(piece.call)
                case _:
                    assert_never(piece)

    def _add_call(self, draft: CallDraft) -> None:
        """Add a new call after the blocks so far."""
        if draft not in self._written:
            self._length.add_call(draft.name)
            self._close_row()
            self._announce_held_arguments()
            self._written.append(draft)
            self._announce(draft.id, draft.name)

    def _grow(self, kind: str, text: str) -> None:
        if self._row is None or self._row_kind != kind:
            self._close_row()
            self._row, self._row_kind = self._rows.stream(kind), kind
        self._row.append(text)

    def _close_row(self, **fields: bool) -> None:
        row, self._row = self._row, None
        if row is None:
            return
        row.finish(**fields)
        if self._row_kind == "reasoning":
            self._written.append(ThinkingBlock(thinking=row.text, signature=self._signature))
            self._signature = None
        elif row.text:
            self._written.append(TextBlock(text=row.text))

    def _announce_arguments(self, draft: CallDraft, json: str, first: str | None) -> None:
        _, covered = self._arguments.setdefault(draft.id, (draft.name, self._bus.stream_redactor()))
        shown = covered.feed_text(json)
        if shown or first is not None:
            self._announce(draft.id, draft.name, shown, first)

    def _announce_held_arguments(self) -> None:
        """Send the arguments that were held back because they could have become a secret."""
        for id, (tool, covered) in self._arguments.items():
            if held := covered.finish().decode():
                self._announce(id, tool, held)
        self._arguments.clear()

    def _announce(self, id: str, tool: str, delta: str = "", first: str | None = None) -> None:
        self._bus.emit(ToolCallDelta(task_id=self._rows.task_id, call_id=id, tool=tool, delta=delta, first_arg=first))


def _without_end(length: str) -> ProviderFault:
    return ProviderFault(
        FaultKind.REPLY_TOO_LONG,
        f"The model's answer was stopped after {length}, because it did not end. None of it was run. Retry, or use "
        "another model.",
    )


def is_plausible(chunk: UsageChunk) -> bool:
    """Whether a request can have used as much as a server reports. If not, it counts as not reported."""
    usage, cost = chunk.usage, chunk.cost
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
    )
    is_possible = min(counts) >= 0 and max(counts) <= MOST_TOKENS
    return is_possible and (cost is None or (isfinite(cost) and 0 <= cost <= MOST_DOLLARS))


def without_duplicates(items: list[AssistantBlock | ToolCall]) -> list[AssistantBlock | ToolCall]:
    """Drop calls that a server sent twice in one reply, with the same id, name and input."""
    seen: list[tuple[str, str, object]] = []
    kept: list[AssistantBlock | ToolCall] = []
    for item in items:
        if isinstance(item, ToolCall) and item.given_id:
            key = (item.given_id, item.name, item.input)
            if key in seen:
                continue
            seen.append(key)
        kept.append(item)
    return kept


def _block(item: AssistantBlock | ToolCall) -> AssistantBlock:
    if isinstance(item, ToolCall):
        return ToolUseBlock(id=item.id, name=item.name or "unnamed", input=item.input)
    return item

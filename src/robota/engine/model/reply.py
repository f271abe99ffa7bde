"""One reply of the model: reads the stream, shows it as it comes, and returns it whole."""

from collections.abc import Iterable, Iterator
from typing import assert_never

import msgspec

from robota.contracts.tool import ToolCall
from robota.engine.model.call_format import CallAssembler, CallDraft, TextReader
from robota.engine.model.xml_calls import XmlArgument, XmlCallClosed, XmlCallOpened, XmlPiece, XmlText
from robota.engine.record.rows import Rows, StreamingRow
from robota.engine.session.bus import EventBus
from robota.protocol.conversation import AssistantBlock, AssistantTurn, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from robota.protocol.events import ToolCallDelta
from robota.providers.chunks import (
    CallArgumentsChunk,
    CallStartChunk,
    Chunk,
    FinishChunk,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from robota.secrets.redaction import StreamRedactor


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A complete reply: the turn for the history, and its calls, readable or not."""

    turn: AssistantTurn
    calls: tuple[ToolCall, ...]

    @property
    def is_empty(self) -> bool:
        return not self.calls and not self.turn.text.strip()


class ReplyReader:
    """Takes chunks one by one. Text and reasoning become rows at once; calls are collected until the end."""

    def __init__(self, rows: Rows, bus: EventBus, reader: TextReader, new_id: Iterator[str]) -> None:
        self._rows = rows
        self._bus = bus
        self._reader = reader
        self._assembler = CallAssembler(new_id)
        self._written: list[AssistantBlock | ToolCall | CallDraft] = []
        self._row: StreamingRow | None = None
        self._row_kind = ""
        self._signature: str | None = None
        self._arguments: dict[str, tuple[str, StreamRedactor]] = {}
        self.usage = Usage()
        self.cost: float | None = None
        self.finish_reason: str | None = None

    def take(self, chunk: Chunk) -> None:
        match chunk:
            case TextChunk():
                self._take_pieces(self._reader.feed(chunk.text))
            case ThinkingChunk():
                self._signature = chunk.signature or self._signature
                self._grow("reasoning", chunk.text)
            case CallStartChunk():
                self._place(self._assembler.start(chunk))
            case CallArgumentsChunk():
                draft, first = self._assembler.feed(chunk)
                self._place(draft)
                self._announce_arguments(draft, chunk.json, first)
            case UsageChunk():
                self.usage, self.cost = chunk.usage, chunk.cost
            case FinishChunk():
                self.finish_reason = chunk.reason
            case _:
                assert_never(chunk)

    def finish(self, id: str, model: str) -> Reply:
        self._take_pieces(self._reader.finish())
        self._close_row()
        self._announce_held_arguments()
        items = without_echoes([item.finish() if isinstance(item, CallDraft) else item for item in self._written])
        calls = tuple(item for item in items if isinstance(item, ToolCall))
        turn = AssistantTurn(
            content=tuple(_block(item) for item in items),
            id=id,
            model=model,
            stop_reason="tool_use" if calls and self.finish_reason == "end_turn" else self.finish_reason,
            usage=self.usage,
        )
        return Reply(turn=turn, calls=calls)

    def interrupted(self) -> str:
        """Close the rows of a reply that will not be completed; returns the text that came."""
        if self._row is not None:
            self._close_row(interrupted=True)
        self._announce_held_arguments()
        return "".join(item.text for item in self._written if isinstance(item, TextBlock))

    def _take_pieces(self, pieces: Iterable[XmlPiece]) -> None:
        for piece in pieces:
            match piece:
                case XmlText():
                    self._grow("text", piece.text)
                case XmlCallOpened():
                    self._announce(piece.id, piece.name)
                case XmlArgument():
                    self._announce(piece.id, piece.tool, first=piece.value)
                case XmlCallClosed():
                    self._close_row()
                    self._written.append(piece.call)
                case _:
                    assert_never(piece)

    def _place(self, draft: CallDraft) -> None:
        """A new call takes its place among what was written so far."""
        if draft not in self._written:
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
        """What was held back of arguments because it could have become a secret."""
        for id, (tool, covered) in self._arguments.items():
            if held := covered.finish().decode():
                self._announce(id, tool, held)
        self._arguments.clear()

    def _announce(self, id: str, tool: str, delta: str = "", first: str | None = None) -> None:
        self._bus.emit(ToolCallDelta(task_id=self._rows.task_id, call_id=id, tool=tool, delta=delta, first_arg=first))


def without_echoes(items: list[AssistantBlock | ToolCall]) -> list[AssistantBlock | ToolCall]:
    """Drop a call that repeats one of the same reply under the same id: a server's stutter, not an intention."""
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

"""The searchable texts of a record: prompts, replies, and the inputs and results of calls."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

import msgspec

from robota.log.kinds.calls import ResultRecord, ToolStartRecord
from robota.log.kinds.row_glance import GlancedRow, glanced_row
from robota.log.record import Record, payload_of

# Of a longer text only the beginning and the end are indexed; the end of output is often what users remember.
MAX_TEXT_LENGTH: Final = 20_000
MAX_DEPTH: Final = 8
SPOKEN: Final = frozenset({"text", "completion_result", "user_feedback", "reasoning", "error"})


class TextKind(StrEnum):
    """The kind of a searchable text."""

    TALK = "talk"
    CALL = "call"
    OUTPUT = "output"


class SearchableText(msgspec.Struct, frozen=True, gc=False):
    """A text of a log. One with the `ts` of an earlier text replaces it."""

    ts: int
    kind: TextKind
    tool: str
    text: str


class _Result(msgspec.Struct, frozen=True, gc=False):
    """A block of a turn. Only results are indexed, because other blocks also have rows."""

    type: str
    content: Any = None


class _TurnOnly(msgspec.Struct, frozen=True, gc=False):
    turn: "_Blocks"


class _Blocks(msgspec.Struct, frozen=True, gc=False):
    role: str
    content: tuple[_Result, ...] = ()


_TURN: Final = msgspec.json.Decoder(_TurnOnly)


def texts_of(record: Record) -> Iterator[SearchableText]:
    """The texts of one record; none if it is unreadable."""
    try:
        match record.kind:
            case "message":
                yield from _row_texts(glanced_row(record))
            case "turn":
                yield from _result_texts(record.ts, _TURN.decode(record.payload).turn)
            case "toolStart" | "result":
                yield from _call_texts(record)
            case _:
                return
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return


def _row_texts(glanced: GlancedRow | None) -> Iterator[SearchableText]:
    if glanced is None:
        return
    row = glanced.message
    if not row.partial and row.text and (row.say in SPOKEN or row.ask == "followup"):
        yield SearchableText(row.ts, TextKind.TALK, "", _shortened(row.text))


def _result_texts(ts: int, turn: _Blocks) -> Iterator[SearchableText]:
    results = [block.content for block in turn.content if block.type == "tool_result"]
    text = "\n".join(_shortened(content) for content in results if isinstance(content, str))
    if text:
        yield SearchableText(ts, TextKind.OUTPUT, "", _shortened(text))


def _call_texts(record: Record) -> Iterator[SearchableText]:
    payload = payload_of(record)
    if isinstance(payload, ToolStartRecord):
        text = "\n".join(_strings(payload.input))
        yield SearchableText(record.ts, TextKind.CALL, payload.tool, _shortened(text))
    elif isinstance(payload, ResultRecord):
        yield SearchableText(record.ts, TextKind.OUTPUT, "", _shortened(payload.result.content))


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < MAX_DEPTH and isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each, depth + 1)


def _shortened(text: str) -> str:
    if len(text) <= MAX_TEXT_LENGTH:
        return text
    return f"{text[: MAX_TEXT_LENGTH // 2]}\n{text[-MAX_TEXT_LENGTH // 2 :]}"

"""What the model has in view, piece by piece: a pure reading of the request and the conversation."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final, assert_never

import msgspec

from robota.contracts.knowledge import INSTRUCTION_TAG, MEMORY_TAG, QUOTED_TAG
from robota.engine.context.retained import ANSWER_BEGIN, NOT_USER_TEXT, REMINDER, user_text
from robota.engine.model.environment import ENVIRONMENT_BEGIN
from robota.engine.record.history import characters_of_block
from robota.log.replay.context import Omission, Piece, Summary
from robota.protocol.conversation import (
    AssistantTurn,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
    UserTurn,
)
from robota.protocol.ledger import Fate, LedgerEntry, LedgerKind
from robota.providers.chunks import ToolSpec
from robota.text.counted import counted

MCP_PREFIX: Final = "mcp__"
TITLE_LENGTH: Final = 80
INSTRUCTIONS: Final = rf'<({INSTRUCTION_TAG}|{MEMORY_TAG}|{QUOTED_TAG}) from="([^"\n]*)">\n.*?\n</\1>'


class LedgerItem(msgspec.Struct, frozen=True, kw_only=True):
    """An entry before its characters have become tokens."""

    kind: LedgerKind
    title: str
    characters: int
    turn: int | None = None
    call_id: str | None = None
    reduction_id: str | None = None
    typed_text: str | None = None  # the words of the user
    is_told_to_nobody: bool = False  # nothing of it enters a summary: reasoning, images
    fate: Fate | None = None


class _AskedCall(msgspec.Struct, frozen=True):
    call: ToolUseBlock
    reads_file: bool


def ledger_items(
    system: str, tools: Sequence[ToolSpec], pieces: Sequence[Piece], file_readers: Set[str]
) -> list[LedgerItem]:
    """Everything in the context, in the order in which the model reads it; `file_readers` are names of tools."""
    return [*_head_items(system, tools), *_conversation_items(pieces, file_readers)]


def entries_of(
    items: Sequence[LedgerItem], used: int, window: int, pins: Set[int] = frozenset()
) -> tuple[LedgerEntry, ...]:
    """The items with their part of the `used` tokens, by their length; together they have all of them."""
    whole = sum(item.characters for item in items)
    entries: list[LedgerEntry] = []
    characters = counted = 0
    for item in items:
        # Rounding the running sum instead of each part keeps the sum of the parts right.
        characters += item.characters
        upto = round(used * characters / whole) if whole else 0
        tokens, counted = upto - counted, upto
        entries.append(
            LedgerEntry(
                kind=item.kind,
                title=item.title,
                tokens=tokens,
                share=round(100 * tokens / window, 2) if window else 0.0,
                turn=item.turn,
                call_id=item.call_id,
                reduction_id=item.reduction_id,
                is_pinned=item.turn in pins,
                fate=item.fate,
            )
        )
    return tuple(entries)


def _conversation_items(pieces: Sequence[Piece], file_readers: Set[str]) -> Iterator[LedgerItem]:
    """The entries of the turns: texts, and the input and output of calls."""
    calls: dict[str, _AskedCall] = {}
    for piece in pieces:
        if isinstance(piece.turn, AssistantTurn):
            calls = {call.id: _AskedCall(call, call.name in file_readers) for call in piece.turn.tool_uses}
            yield from _reply(piece.number, piece.turn)
        else:
            yield from _user_turn(piece, piece.turn, calls)


def _head_items(system: str, tools: Sequence[ToolSpec]) -> Iterator[LedgerItem]:
    files = list(re.finditer(INSTRUCTIONS, system, re.DOTALL))
    own = len(system) - sum(len(file[0]) for file in files)
    yield LedgerItem(kind=LedgerKind.SYSTEM, title="system prompt", characters=own)
    for file in files:
        yield LedgerItem(kind=LedgerKind.INSTRUCTIONS, title=_path_title(file[2]), characters=len(file[0]))
    built_in = [spec for spec in tools if not spec.name.startswith(MCP_PREFIX)]
    if built_in:
        yield _tools(LedgerKind.TOOLS, f"{len(built_in)} built-in tools", built_in)
    servers: dict[str, list[ToolSpec]] = {}
    for spec in tools:
        if spec.name.startswith(MCP_PREFIX):
            servers.setdefault(spec.name.removeprefix(MCP_PREFIX).partition("__")[0], []).append(spec)
    for name, specs in servers.items():
        yield _tools(LedgerKind.MCP_SERVER, f"{name} ({counted(len(specs), 'tool')})", specs)


def _path_title(path: str) -> str:
    """The end of a path says more than its beginning, which is the same for most."""
    return _short("/".join(path.split("/")[-2:]))


def _tools(kind: LedgerKind, title: str, specs: Iterable[ToolSpec]) -> LedgerItem:
    return LedgerItem(kind=kind, title=title, characters=sum(spec.characters for spec in specs))


def _reply(number: int, turn: AssistantTurn) -> Iterator[LedgerItem]:
    thoughts = sum(len(block.thinking) for block in turn.content if isinstance(block, ThinkingBlock))
    spoken = sum(map(characters_of_block, turn.content)) - thoughts
    if thoughts:
        yield LedgerItem(
            kind=LedgerKind.MODEL, title="reasoning", characters=thoughts, turn=number, is_told_to_nobody=True
        )
    if spoken or not thoughts:
        calls = ", ".join(call.name for call in turn.tool_uses)
        title = _short(turn.text) or (f"calls {calls}" if calls else "nothing")
        yield LedgerItem(kind=LedgerKind.MODEL, title=title, characters=spoken, turn=number)


def _user_turn(piece: Piece, turn: UserTurn, calls: dict[str, _AskedCall]) -> Iterator[LedgerItem]:
    stands_for = _told_of(piece)
    put_by = None if piece.reduction is None else piece.reduction.id
    for block in turn.content:
        kind, title = _kind_and_title(block, calls)
        call_id = block.tool_use_id if isinstance(block, ToolResultBlock) else None
        if kind is LedgerKind.REMINDER and stands_for:
            kind, title = LedgerKind.CONDENSATION, stands_for
        yield LedgerItem(
            kind=kind,
            title=title,
            characters=characters_of_block(block),
            turn=piece.number,
            call_id=call_id,
            typed_text=user_text(block) if kind is LedgerKind.PERSON else None,
            is_told_to_nobody=isinstance(block, ImageBlock),
            reduction_id=piece.cuts.get(call_id or "", put_by),
        )


def _told_of(piece: Piece) -> str:
    """What was replaced by a piece that a reduction inserted."""
    match piece.reduction:
        case Summary(first=first, end=end):
            return f"summary of turns {first} to {end - 1}"
        case Omission(first=first, end=end):
            return f"note about turns {first} to {end - 1}, which were left out"
        case None:
            return ""
        case never:
            assert_never(never)


def _kind_and_title(block: UserBlock, calls: dict[str, _AskedCall]) -> tuple[LedgerKind, str]:
    match block:
        case ImageBlock():
            return LedgerKind.PERSON, "an image"
        case TextBlock():
            is_ours = block.text.startswith(NOT_USER_TEXT)
            title = _short(block.text.removeprefix(REMINDER).removeprefix(ENVIRONMENT_BEGIN))
            return (LedgerKind.REMINDER if is_ours else LedgerKind.PERSON), title
        case ToolResultBlock():
            return _result(block, calls.get(block.tool_use_id))
        case _:
            assert_never(block)


def _result(block: ToolResultBlock, asked: _AskedCall | None) -> tuple[LedgerKind, str]:
    if block.content.startswith(ANSWER_BEGIN):
        return LedgerKind.PERSON, _short(user_text(block))
    if asked is None:
        return LedgerKind.OUTPUT, "a call that is no longer there"
    if asked.reads_file and not block.is_error:
        return LedgerKind.FILE, _short(str(asked.call.input.get("path", "")))
    return LedgerKind.OUTPUT, call_in_words(asked.call)


def call_in_words(call: ToolUseBlock) -> str:
    """The name of the tool and the first of its arguments, in one line."""
    first = next(iter(call.input.values()), "")
    return _short(f"{call.name} {first if isinstance(first, str) else ''}")


def _short(text: str) -> str:
    line = " ".join(text[: 4 * TITLE_LENGTH].split())
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1]}…"

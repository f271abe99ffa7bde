"""Selects old tool outputs to cut when room is needed, and makes the notes that replace them."""

from collections.abc import Sequence, Set
from typing import Final

import msgspec

from robota.engine.context.ledger import call_in_words
from robota.engine.context.retained import ANSWER_BEGIN
from robota.engine.record.history import characters_of_block
from robota.log.replay.context import Piece
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, ToolUseBlock, UserTurn

# Not cut, because the model still works with them: the newest exchanges, and outputs up to a share of the room.
NEWEST_EXCHANGES: Final = 4
NEWEST_SHARE: Final = 0.25
# Shorter outputs are not worth a note.
SMALL: Final = 1_000
BEGINNING: Final = 100
NOTE_LENGTH: Final = 400  # about


class OldOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A result that can be cut, with its call and the number of its turn."""

    turn: int
    result: ToolResultBlock
    call: ToolUseBlock
    is_of_file: bool  # reading the file again shows it again


def old_outputs(pieces: Sequence[Piece], kept: Set[int], room: int, file_readers: Set[str]) -> list[OldOutput]:
    """The outputs that can be cut, oldest first: none that is new, small, cut already or in `kept`.

    `room` is the context window in characters; `file_readers` are the names of tools that read files.
    """
    outputs: list[OldOutput] = []
    for piece, reply in _older_results(pieces, round(NEWEST_SHARE * room)):
        results = {block.tool_use_id: block for block in piece.turn.content if isinstance(block, ToolResultBlock)}
        for call in reply.tool_uses if piece.number not in kept else ():
            result = results.get(call.id)
            if result is not None and call.id not in piece.cuts and _can_be_cut(result):
                is_of_file = call.name in file_readers
                outputs.append(OldOutput(turn=piece.number, result=result, call=call, is_of_file=is_of_file))
    return outputs


def replacement_text(output: OldOutput, reader: str | None, kept_as: str | None) -> str:
    """The note that replaces an output, with how to see it again; the tool `reader` reads the artifact `kept_as`."""
    content = output.result.content
    images = f" and {len(output.result.images)} images" if output.result.images else ""
    beginning = " ".join(content[: 4 * BEGINNING].split())[:BEGINNING]
    what = f"the content of {output.call.input.get('path', 'the file')}" if output.is_of_file else "the output"
    again = "Read the file again if you need it." if output.is_of_file else "Make the call again if you need it."
    if kept_as is not None:
        again = f'It is kept: read it with {reader} {{"artifact_id":"{kept_as}"}}.'
    return (
        f"[Left out to make room: {what} of {call_in_words(output.call)}, {len(content):,} characters{images}, "
        f"which began: {beginning} …]\n{again}"
    )


def _can_be_cut(result: ToolResultBlock) -> bool:
    return characters_of_block(result) > SMALL and not result.content.startswith(ANSWER_BEGIN)


def _older_results(pieces: Sequence[Piece], newest: int) -> list[tuple[Piece, AssistantTurn]]:
    """Turns with results and their replies, without those that the model still works with."""
    starts = [index for index, piece in enumerate(pieces) if isinstance(piece.turn, AssistantTurn)]
    older = starts[:-NEWEST_EXCHANGES]
    if not older:
        return []
    newest -= sum(map(_results_length, pieces[starts[-NEWEST_EXCHANGES] :]))
    pairs: list[tuple[Piece, AssistantTurn]] = []
    for index in reversed(older):
        reply, following = pieces[index].turn, pieces[index + 1]
        newest -= _results_length(following)
        if newest < 0 and isinstance(reply, AssistantTurn):
            pairs.append((following, reply))
    return pairs[::-1]


def _results_length(piece: Piece) -> int:
    if not isinstance(piece.turn, UserTurn):
        return 0
    return sum(characters_of_block(block) for block in piece.turn.content if isinstance(block, ToolResultBlock))

"""Where a reply of the model is in a log, found by an id that a client gave it."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from robota.log.chain.reader import LOG_NAME, LineSpan, scan
from robota.log.kinds.conversation import TurnRecord
from robota.log.record import Record, payload_of
from robota.log.replay.branches import branch_spans
from robota.log.replay.rewind_points import read_rewind_history
from robota.protocol.conversation import AssistantTurn


class ReplyPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a reply. `is_newest`: no other reply follows it on the present branch.

    `next_prompt` is the number of the prompt that follows, if the reply ends its turn.
    """

    seq: int
    is_newest: bool
    next_prompt: int | None


def place_of_reply(directory: Path, is_wanted: Callable[[str], bool], index: Path | None = None) -> ReplyPlace | None:
    """Find a reply of the present conversation; None if there is none. Raises `LogError`."""
    replies = _replies(directory)
    history = read_rewind_history(directory / LOG_NAME, index)
    live = history.live_at(history.last_seq)
    points = sorted((point.seq, point.number) for point in history.points if point.number in live)
    branch = branch_spans(history.jumps)
    told = [(seq, id) for seq, id in replies if any(seq in span for span in branch)]
    place = next((number for number, (_, id) in enumerate(told) if is_wanted(id)), None)
    if place is None:
        return None
    seq, is_newest = told[place][0], place == len(told) - 1
    next_reply = None if is_newest else told[place + 1][0]
    following = next((point for point in points if point[0] > seq), None)
    ends_turn = following is not None and (next_reply is None or following[0] < next_reply)
    return ReplyPlace(seq=seq, is_newest=is_newest, next_prompt=following[1] if following and ends_turn else None)


def newest_reply(directory: Path) -> str:
    """The id of the reply that was written last; empty if there is none."""
    return next((id for _, id in reversed(_replies(directory))), "")


def _replies(directory: Path) -> list[tuple[int, str]]:
    """The record and the id of each reply."""
    replies: list[tuple[int, str]] = []

    def take(record: Record, _: LineSpan) -> None:
        if record.kind != "turn":
            return
        payload = payload_of(record)
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, AssistantTurn):
            replies.append((record.seq, payload.turn.id))

    scan(directory / LOG_NAME, take)
    return replies

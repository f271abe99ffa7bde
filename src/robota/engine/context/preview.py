"""Previews what condensing the conversation now would keep and what it would summarise. Nothing is changed."""

from collections.abc import Sequence, Set

import msgspec

from robota.contracts.tool import ToolRole, names_with_role
from robota.engine.context.ledger import LedgerItem, entries_of, ledger_items
from robota.engine.context.reducer import LAST_EXCHANGE_SHARE, user_text_room
from robota.engine.context.retained import bounded, user_messages
from robota.engine.context.span import Span, all_but_last_exchange, can_condense, pinned_pairs
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.events import CondensePreview
from robota.protocol.ledger import Fate, LedgerKind
from robota.providers.chunks import ToolSpec


def condense_preview(
    runtime: TaskRuntime, system: str, tools: Sequence[ToolSpec], used: int, room: int
) -> CondensePreview | None:
    """The fate of everything in the context; None if there is nothing to condense. `room` is in characters."""
    history = runtime.history
    kept = pinned_pairs(history.pieces, history.pins)
    span = None
    if can_condense(history.pieces):
        span = all_but_last_exchange(history.pieces, history.recorded, round(LAST_EXCHANGE_SHARE * room), kept)
    if span is None:
        return None
    readers = names_with_role(runtime.services.tools.all, ToolRole.FILE_READER)
    items = with_fates(ledger_items(system, tools, history.pieces, readers), span, kept, user_text_room(room))
    entries = entries_of(items, used, runtime.services.model.info.context_window, history.pins)
    stays = sum(entry.tokens for entry in entries if entry.fate in (Fate.KEPT, Fate.PINNED))
    return CondensePreview(task_id=runtime.task_id, prev_context_tokens=used, kept_tokens=stays, entries=entries)


def with_fates(items: Sequence[LedgerItem], span: Span, kept: Set[int], room_for_words: int) -> list[LedgerItem]:
    """The items, each with its fate when `span` is condensed."""
    words = frozenset(bounded(user_messages(span.turns).messages, room_for_words))
    return [msgspec.structs.replace(item, fate=_fate(item, span, kept, words)) for item in items]


def _fate(item: LedgerItem, span: Span, kept: Set[int], words: frozenset[str]) -> Fate:
    if item.turn is None:
        return Fate.KEPT
    if item.turn in kept and item.reduction_id is None:
        return Fate.PINNED
    if not span.first <= item.turn < span.end or (item.kind is LedgerKind.PERSON and item.typed_text in words):
        return Fate.KEPT
    return Fate.LEFT_OUT if item.is_told_to_nobody else Fate.SUMMARISED

"""How full the context window of a task was, and with what, read from its log alone."""

from collections.abc import Sequence, Set

from robota.engine.context.ledger import entries_of, ledger_items
from robota.engine.context.window import Gauge, overhead_of
from robota.engine.record.history import characters_of
from robota.engine.runtime.task_runtime import SIZES_KEPT, requests_until
from robota.log.replay.context import ContextFold, ModelContext
from robota.log.replay.requests import RecordedRequest
from robota.log.replay.task import TaskFold
from robota.protocol.conversation import AssistantTurn, Turn
from robota.protocol.events import ContextUpdate
from robota.providers.chunks import ToolSpec


def recorded_context(task: TaskFold, request: RecordedRequest, file_readers: Set[str]) -> ContextUpdate:
    """The entries that a client of the running task would get; `request` is the newest one in its log.

    `file_readers` are names of tools.
    """
    tools = tuple(ToolSpec(**spec) for spec in request.tools)
    conversation = task.conversation()
    used = tokens_in_use(task, request)
    window, totals = request.context_window, task.totals
    items = ledger_items(request.system, tools, task.context.pieces, file_readers)
    return ContextUpdate(
        task_id=task.task_id,
        used_tokens=used,
        max_tokens=window,
        used_percentage=round(min(100.0, 100 * used / window), 2) if window else 0.0,
        is_estimated=totals.usage.total_in == 0 or totals.estimated > 0,
        condense_at=request.condense_at,
        requests_to_condensing=requests_until(request.condense_at, _growing_sizes(conversation)),
        cached_tokens=totals.usage.cache_read_input_tokens,
        saved_cost=totals.saved,
        total_cost=totals.cost,
        entries=entries_of(items, used, window, task.context.pins),
    )


def tokens_in_use(task: TaskFold, request: RecordedRequest, changed: ContextFold | None = None) -> int:
    """What the provider counted last, and an estimate for what has changed since; or for a `changed` context."""
    tools = tuple(ToolSpec(**spec) for spec in request.tools)
    conversation = task.conversation()
    gauge, characters = Gauge(overhead_of(request.system, tools)), _characters(conversation.turns)
    size, shown = _newest_size(task, conversation.turns)
    gauge.count(size, _characters(shown))
    if changed is None:
        return gauge.tokens(characters)
    return gauge.tokens_after(characters, _characters(ModelContext(changed).turns))


def _newest_size(task: TaskFold, turns: Sequence[Turn]) -> tuple[int, Sequence[Turn]]:
    """The newest known size of the conversation, and the turns that it is about; 0 if none is known.

    After a reduction, it is the size that was estimated then, because what the provider had counted is gone.
    """
    since = [piece.turn for piece in task.context.pieces if piece.number >= task.context.reduced_at]
    if any(map(_size, since)) or not task.context.reduced_at:
        index = next((index for index in reversed(range(len(turns))) if _size(turns[index])), None)
        return (0, ()) if index is None else (_size(turns[index]), turns[: index + 1])
    return task.context_tokens, turns[: len(turns) - len(since)]


def _characters(turns: Sequence[Turn]) -> int:
    return sum(map(characters_of, turns))


def _growing_sizes(conversation: ModelContext) -> list[int]:
    """The newest sizes between which nothing was taken out."""
    sizes: list[int] = []
    for turn in reversed(conversation.turns):
        size = _size(turn)
        if size and (len(sizes) == SIZES_KEPT or (sizes and size > sizes[-1])):
            break
        if size:
            sizes.append(size)
    return sizes[::-1]


def _size(turn: object) -> int:
    return turn.usage.context_tokens if isinstance(turn, AssistantTurn) else 0

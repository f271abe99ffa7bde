"""How full the context window of a task was, and with what, read from its log alone."""

from collections.abc import Sequence, Set

from robota.engine.context.ledger import entries_of, ledger_items
from robota.engine.context.window import Gauge, overhead_of
from robota.engine.record.history import characters_of
from robota.engine.runtime.task_runtime import SIZES_KEPT, requests_until
from robota.log.replay.context import ModelContext, model_context_of
from robota.log.replay.requests import RecordedRequest
from robota.log.replay.task import ReplayedTask
from robota.protocol.conversation import AssistantTurn, Turn
from robota.protocol.events import ContextUpdate
from robota.providers.chunks import ToolSpec


def recorded_context(task: ReplayedTask, request: RecordedRequest, file_readers: Set[str]) -> ContextUpdate:
    """The same that a client of the running task would be told; `request` is the newest that the log has of it.

    `file_readers` are names of tools.
    """
    tools = tuple(ToolSpec(**spec) for spec in request.tools)
    conversation = task.conversation()
    used = tokens_in_use(task, conversation, overhead_of(request.system, tools))
    window, totals = request.context_window, task.totals
    items = ledger_items(request.system, tools, conversation.pieces, file_readers)
    return ContextUpdate(
        task_id=task.task_id,
        used_tokens=used,
        max_tokens=window,
        used_percentage=round(min(100.0, 100 * used / window), 2) if window else 0.0,
        is_estimated=_newest_counted(task) is None,
        condense_at=request.condense_at,
        requests_to_condensing=requests_until(request.condense_at, _growing_sizes(conversation)),
        cached_tokens=totals.usage.cache_read_input_tokens,
        saved_cost=totals.saved,
        total_cost=totals.cost,
        entries=entries_of(items, used, window, conversation.pins),
    )


def tokens_in_use(task: ReplayedTask, conversation: ModelContext, overhead: int) -> int:
    """What the provider counted for the newest reply, and an estimate for what has changed since."""
    gauge, characters = Gauge(overhead), _characters(conversation)
    counted = _newest_counted(task)
    if counted is None:
        return gauge.tokens(characters)
    size, then = counted
    gauge.count(size, then)
    return gauge.tokens(characters) if characters >= then else gauge.reduced(then, characters)


def _newest_counted(task: ReplayedTask) -> tuple[int, int] | None:
    """What the provider counted for the newest reply that it counted, and how many characters it had been shown."""
    base = task.base
    place = _last_counted(task.turns)
    if place is not None:
        number = place if base is None else place + base.recorded
        before = [reduced for reduced in task.reductions if reduced.after <= number]
        shown = model_context_of(task.turns[: place + 1], before, base=base)
        return _size(task.turns[place]), _characters(shown)
    place = None if base is None else _last_counted(base.turns)
    if base is None or place is None:
        return None
    return _size(base.turns[place]), sum(map(characters_of, base.turns[: place + 1]))


def _last_counted(turns: Sequence[Turn]) -> int | None:
    return next((place for place in reversed(range(len(turns))) if _size(turns[place])), None)


def _characters(conversation: ModelContext) -> int:
    return sum(map(characters_of, conversation.turns))


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

"""The limits of a task: mistakes in a row, requests and cost. The user decides whether it may go beyond them."""

from typing import Final

from robota.engine.runtime.task_runtime import TaskRuntime, TurnCounts, is_used_up
from robota.engine.runtime.user_input import UserInput, ends_turn
from robota.engine.task.steps import Ended, Outcome
from robota.protocol.asks.ask import LimitAsk, LimitKind, MistakesAsk
from robota.protocol.conversation import AssistantTurn

COST_UNKNOWN: Final = "The model server does not report costs, so the budget cannot be enforced."
MISTAKES_TEXT: Final = (
    "The model made several mistakes in a row: tool calls that cannot be read, or the same failing call again. "
    "Tell it how to continue, or start a new task."
)


async def guidance_at_limit(runtime: TaskRuntime, counts: TurnCounts) -> UserInput | Ended | None:
    """Ask whether the task may go beyond its limits: the user's words for the model, or the end of the task."""
    options, spent = runtime.options, runtime.meter.spent
    limits = options.launch
    words = await _after_mistakes(runtime, counts) if 0 < options.settings.mistake_limit <= counts.mistakes else None
    if isinstance(words, Ended):
        return words
    if is_used_up(limits.max_turns, spent.requests) and not await _may_go_on(runtime, counts, LimitKind.REQUESTS):
        return Ended(Outcome.GIVEN_UP, "The limit of requests is reached.")
    if is_used_up(limits.max_cost, spent.cost):
        if spent.cost is None:
            runtime.rows.say("error", COST_UNKNOWN)
        if not await _may_go_on(runtime, counts, LimitKind.COST):
            return Ended(Outcome.GIVEN_UP, "The budget is used up.")
    return words


def stopped_at_own_limit(runtime: TaskRuntime, counts: TurnCounts) -> str:
    """The result of a task that may make no more requests of its own."""
    replies = (turn.text for turn in reversed(runtime.history.turns) if isinstance(turn, AssistantTurn))
    last = next((text for text in replies if text.strip()), "")
    return f"It was stopped after {counts.requests} requests, before it was complete. Its last message: {last}"


async def _after_mistakes(runtime: TaskRuntime, counts: TurnCounts) -> UserInput | Ended | None:
    """For a subtask, nobody is asked: its parent gets the reason, and can try something else."""
    if runtime.is_subtask:
        return Ended(Outcome.GIVEN_UP, f"It made {counts.mistakes} mistakes in a row.")
    asked = MistakesAsk(message=MISTAKES_TEXT)
    answer = await runtime.ask(asked)
    if ends_turn(asked, answer):
        return Ended(Outcome.GIVEN_UP)
    counts.mistakes = 0
    if not answer.has_words:
        return None
    return UserInput(text=f"The user says: {answer.text}", images=answer.images)


async def _may_go_on(runtime: TaskRuntime, counts: TurnCounts, kind: LimitKind) -> bool:
    """Whether the user lets the task continue. A yes resets the counters."""
    limits = runtime.options.launch
    asked = LimitAsk(limit=kind, count=(limits.max_turns if kind is LimitKind.REQUESTS else limits.max_cost) or 0)
    if ends_turn(asked, await runtime.ask(asked)):
        return False
    counts.requests = runtime.meter.spent.requests = 0
    runtime.meter.spent.cost = 0.0
    return True

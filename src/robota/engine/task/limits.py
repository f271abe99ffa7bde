"""The limits of a task: mistakes in a row, requests, budget. The user decides whether it may go beyond them."""

from typing import TYPE_CHECKING, Final

from robota.contracts.budget import DOLLAR
from robota.engine.budgets.session_budget import SESSION, refusal
from robota.engine.model.request import BudgetExhausted, RequestGivenUp
from robota.engine.runtime.task_runtime import TaskRuntime, TurnCounts, is_used_up
from robota.engine.runtime.user_input import UserInput, ends_turn
from robota.engine.task.steps import AskModel, Ended, Halted, Outcome
from robota.protocol.asks.ask import LimitAsk, LimitKind, MistakesAsk
from robota.protocol.conversation import AssistantTurn

if TYPE_CHECKING:
    from robota.engine.budgets.account import Exhausted

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
    if is_used_up(limits.max_turns, spent.requests) and not await _may_go_on(runtime, counts):
        return Ended(Outcome.GIVEN_UP, "The limit of requests is reached.")
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


async def without_reply(runtime: TaskRuntime, failed: BudgetExhausted | RequestGivenUp) -> AskModel | Ended | Halted:
    """What happens when a request has no reply: it failed for good, or does not fit into the budget."""
    if isinstance(failed, RequestGivenUp):
        return Ended(Outcome.FAILED, f"The request to the model failed: {failed}")
    return await _at_end_of_budget(runtime, failed.cause)


async def _at_end_of_budget(runtime: TaskRuntime, cause: "Exhausted") -> AskModel | Ended | Halted:
    """What happens when a request does not fit into the budget: an ordinary end, unless the user raises the limit.

    An agent ends with the reason, which goes to the task that started it. The accounts above a session are not raised
    in it.
    """
    budget, why = runtime.budget, refusal(cause)
    if runtime.options.launch.place is not None:
        runtime.rows.say("error", why)  # for the session that it is an agent of
    if runtime.is_subtask or budget is None:
        return Ended(Outcome.GIVEN_UP, why)
    can_be_raised = cause.state.name == SESSION and not cause.cause and not cause.state.limit.is_nothing
    if runtime.options.launch.attended and not can_be_raised:
        return Halted(f"{why} {budget.session.advice(cause.state)}")
    asked = LimitAsk(limit=LimitKind.COST, count=(cause.state.limit.money or 0) / DOLLAR, text=why)
    if ends_turn(asked, await runtime.ask(asked)):
        return Ended(Outcome.GIVEN_UP, why)
    budget.session.raise_limit()
    return AskModel()


async def _may_go_on(runtime: TaskRuntime, counts: TurnCounts) -> bool:
    """Whether the user lets the task continue. A yes resets the counters."""
    asked = LimitAsk(limit=LimitKind.REQUESTS, count=runtime.options.launch.max_turns or 0)
    if ends_turn(asked, await runtime.ask(asked)):
        return False
    counts.requests = runtime.meter.spent.requests = 0
    return True

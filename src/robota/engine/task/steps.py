"""The steps of the task loop: what a task does next."""

from enum import StrEnum

import msgspec

from robota.contracts.tool import ToolCall


class AskModel(msgspec.Struct, frozen=True):
    """Send a request to the model."""


class RunCalls(msgspec.Struct, frozen=True):
    """Run the tool calls of a reply."""

    calls: tuple[ToolCall, ...]


class HandBack(msgspec.Struct, frozen=True):
    """Hand control back to the user, because the model considers the task done."""

    result: str


class Halted(msgspec.Struct, frozen=True):
    """Hand control back to the user, because a hook or the user stopped the task. `message` is shown."""

    message: str


class Outcome(StrEnum):
    """How a task ended, for clients and the log."""

    COMPLETED = "completed"
    GIVEN_UP = "given_up"  # a no at a limit, or too many mistakes in a subtask
    FAILED = "failed"  # a no at a failed request, or a bug in a subtask
    ABANDONED = "abandoned"  # a no at the offer to resume it
    INTERRUPTED = "interrupted"  # cleared, or the session was closed


class Ended(msgspec.Struct, frozen=True):
    """The task is over. `text` is its result, or why it has none."""

    outcome: Outcome
    text: str = ""


Step = AskModel | RunCalls | HandBack | Halted | Ended

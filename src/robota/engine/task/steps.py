"""The steps of the task loop: what a task does next."""

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


class Ended(msgspec.Struct, frozen=True):
    """The task is over. `result` is None if it was given up."""

    result: str | None = None


Step = AskModel | RunCalls | HandBack | Halted | Ended

"""What a task does next."""

import msgspec

from robota.contracts.tool import ToolCall


class AskModel(msgspec.Struct, frozen=True):
    """The model is next."""


class RunCalls(msgspec.Struct, frozen=True):
    """The tools are next."""

    calls: tuple[ToolCall, ...]


class HandBack(msgspec.Struct, frozen=True):
    """The person is next: the model considers the task done."""

    result: str


class Halted(msgspec.Struct, frozen=True):
    """The person is next, because a hook or they themselves want it so. `words` tell them."""

    words: str


class Ended(msgspec.Struct, frozen=True):
    """Nobody is next. `result` is absent if the task was given up."""

    result: str | None = None


Step = AskModel | RunCalls | HandBack | Halted | Ended

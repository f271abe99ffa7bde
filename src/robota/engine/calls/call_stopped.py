"""How a stage before a call keeps it from running."""

from typing import Final

import msgspec

HALTED: Final = "Skipped, because a hook stopped the task."
A_BUG: Final = "This is a bug in robota; the same call would fail again, so do it in another way."
LONGEST_ERROR: Final = 300


class CallStopped(Exception):
    """A stage said no. `message` is for the model, `reason` for a person."""

    def __init__(
        self, status: str, reason: str, message: str = "", *, is_mistake: bool = False, closes_reply: str | None = None
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.message = message or reason
        self.is_mistake = is_mistake
        self.closes_reply = closes_reply

    @property
    def is_news(self) -> bool:
        """Whether a person should be told: a rule said no, and not they themselves."""
        return self.status == "denied" and self.closes_reply is None


class TaskHalted(CallStopped):
    """A hook wants the task to end with this call, which is not run. `words` tell the person."""

    def __init__(self, reason: str) -> None:
        super().__init__("denied", reason, closes_reply=HALTED)
        self.words = halted_by_hook(reason)


class TaskGivenUp(TaskHalted):
    """The person wants it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.words = reason


def halted_by_hook(reason: str) -> str:
    """What a person is told when a hook has ended the task."""
    return f"A hook stopped the task: {reason}"


def denied(**why: str) -> str:
    """What the model is told of a call that was refused."""
    return msgspec.json.encode({"status": "denied", **why}).decode()


def mistake(message: str) -> CallStopped:
    """The model made the call wrongly, and is told so."""
    told = msgspec.json.encode({"status": "error", "message": message}).decode()
    return CallStopped("error", message, told, is_mistake=True)


def not_logged(trouble: str) -> str:
    """Why a call that changes something does not run."""
    return f"Nothing may be changed while the session log cannot be written: {trouble}"


def describe(error: Exception) -> str:
    """An unexpected error in a few words."""
    return f"{type(error).__name__}: {error}"[:LONGEST_ERROR]

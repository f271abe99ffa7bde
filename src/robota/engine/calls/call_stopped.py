"""The exceptions with which a stage before a call stops it, and the texts that go with them."""

import re
from enum import StrEnum
from typing import Final

from robota.contracts.tool import AnyTool
from robota.protocol.conversation import ImageSource
from robota.workspace.problems import shortage_behind

HALTED: Final = "Skipped, because a hook stopped the task."
A_BUG: Final = "This is a bug in Robota; the same call would fail again. Try another way."
MAX_ERROR_LENGTH: Final = 300


class NextStep(StrEnum):
    """What remains possible after a refusal, for the model. Advice on how to permit the call is for users only."""

    BY_RULE = (
        "Nothing was run. Do not work around it: continue without this call, and say in your answer what you could "
        "not do and why."
    )
    IN_PLAN_MODE = (
        "Nothing was run. In plan mode you can still read files, search, and run read-only commands. Describe this "
        "change in your plan or report instead."
    )
    NOBODY_THERE = (
        "Calls that need no approval, such as reading and searching, still work. Do not work around it: continue with "
        "the rest, and say in your answer what you could not do and why."
    )
    BY_HOOK = (
        "Nothing was run. If this says what to do instead, do that; otherwise continue without this call, and say in "
        "your answer what you could not do and why."
    )
    BY_USER = (
        "Nothing was run. Do not repeat this call or try the same thing another way. Continue without it, or ask what "
        "the user wants instead."
    )
    WITH_FEEDBACK = "Nothing was run. Continue as the user says."


class CallStopped(Exception):
    """A stage stopped the call. `message` is for the model, `reason` for the user.

    `skips_rest` is why the later calls of the same reply are skipped, if they are. `images` are for the model, too.
    """

    def __init__(
        self,
        status: str,
        reason: str,
        message: str = "",
        *,
        is_mistake: bool = False,
        skips_rest: str | None = None,
        images: tuple[ImageSource, ...] = (),
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.message = message or reason
        self.is_mistake = is_mistake
        self.skips_rest = skips_rest
        self.images = images

    @property
    def is_shown_as_error(self) -> bool:
        """Whether a row shows it: a rule denied the call, rather than the user, who knows."""
        return self.status == "denied" and self.skips_rest is None


class TaskHalted(CallStopped):
    """A hook wants the task to stop at this call, which is not run. `halt_message` is shown to the user."""

    def __init__(self, reason: str) -> None:
        super().__init__("denied", reason, skips_rest=HALTED)
        self.halt_message = halted_by_hook(reason)


class TaskGivenUp(TaskHalted):
    """The user wants the task to stop at this call."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.halt_message = reason


def halted_by_hook(reason: str) -> str:
    """The message for the user when a hook stopped the task."""
    return f"A hook stopped the task: {reason}"


def denied(reason: str, following: NextStep, by: str = "") -> str:
    """The result that the model gets for a denied call: who refused it, why, and what remains possible."""
    return f"Denied{f' by {by}' if by else ''}: {reason}\n{following}"


def named_by_id(reason: str, tool: AnyTool) -> str:
    """A reason for the user, who knows the tool by its label, as the model gets it, which knows its id."""
    return re.sub(rf"\b{re.escape(tool.label)}(?= (?:needs|is not))", tool.name, reason)


def mistake(message: str) -> CallStopped:
    """The call is malformed; its result tells the model what is wrong."""
    return CallStopped("error", message, is_mistake=True)


def not_logged(trouble: str) -> str:
    """Why a call that changes something is refused while the log cannot be written."""
    why = trouble.rstrip(".")
    return (
        f"Nothing can be changed while the session log cannot be written: {why}. Read and search only, and tell the "
        "user."
    )


def describe(error: Exception) -> str:
    """An unexpected error in a few words."""
    return f"{type(error).__name__}: {error}"[:MAX_ERROR_LENGTH]


def cause_of(error: Exception) -> str:
    """Why an unexpected error occurred: the machine lacks something, or there is a bug."""
    return shortage_behind(error) or f"{describe(error)}. {A_BUG}"

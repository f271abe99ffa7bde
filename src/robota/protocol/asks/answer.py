"""The answers to asks: one type for each kind of answer."""

from enum import StrEnum
from typing import Any

import msgspec

from robota.protocol.wire import Value


class GrantScope(StrEnum):
    """Where granted rules hold: this session, this project, or all projects of the user."""

    SESSION = "session"
    PROJECT = "project"
    USER = "user"


class AnswerDetails(Value, frozen=True, kw_only=True, tag_field="kind"):
    """The base of all answers. `text` and `images` are feedback that comes with it."""

    text: str = ""
    images: tuple[str, ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether the answer has feedback besides yes or no."""
        return bool(self.text.strip() or self.images)


class Approve(AnswerDetails, frozen=True, kw_only=True, tag="approve"):
    """Yes. `grant` are rules from the ask's suggestions to allow such calls from now on."""

    grant: tuple[str, ...] = ()
    grant_scope: GrantScope = GrantScope.SESSION


class ApproveEdited(AnswerDetails, frozen=True, kw_only=True, tag="approveEdited"):
    """Yes, with this text in the ask's editable field."""

    edited: str


class ApproveInput(AnswerDetails, frozen=True, kw_only=True, tag="approveInput"):
    """Yes, with these arguments instead of the model's."""

    input: dict[str, Any] = msgspec.field(default_factory=dict)


class ApproveHunks(AnswerDetails, frozen=True, kw_only=True, tag="approveHunks"):
    """Yes, but only to these hunks of the diff, counted from 0."""

    hunks: tuple[int, ...] = ()


class Reject(AnswerDetails, frozen=True, kw_only=True, tag="reject"):
    """No; `text` says why."""


class Say(AnswerDetails, frozen=True, kw_only=True, tag="say"):
    """A text: the answer to a question, or how to continue. As the answer to an approval it is a no.

    If the task is done or was interrupted, it may be a shell command of the user (`is_command`): it is run, and the
    model gets its output with the next prompt.
    """

    is_command: bool = False


Answer = Approve | ApproveEdited | ApproveInput | ApproveHunks | Reject | Say

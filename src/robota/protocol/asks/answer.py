"""What is answered to an ask: one typed value for each kind of answer."""

from enum import StrEnum
from typing import Any

import msgspec

from robota.protocol.wire import Value


class GrantScope(StrEnum):
    """For how long granted rules hold: this session, this project, this user everywhere."""

    SESSION = "session"
    PROJECT = "project"
    USER = "user"


class AnswerDetails(Value, frozen=True, kw_only=True, tag_field="kind"):
    """The base of all answers. `text` and `images` are what the person says along with it."""

    text: str = ""
    images: tuple[str, ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether the person said anything beside yes or no."""
        return bool(self.text.strip() or self.images)


class Approve(AnswerDetails, frozen=True, kw_only=True, tag="approve"):
    """Yes. `grant` names rules of the ask's suggestions that shall allow such calls from now on."""

    grant: tuple[str, ...] = ()
    grant_scope: GrantScope = GrantScope.SESSION


class ApproveEdited(AnswerDetails, frozen=True, kw_only=True, tag="approveEdited"):
    """Yes, with this text in the ask's editable field."""

    edited: str


class ApproveInput(AnswerDetails, frozen=True, kw_only=True, tag="approveInput"):
    """Yes, with these arguments instead of all that the model gave."""

    input: dict[str, Any] = msgspec.field(default_factory=dict)


class ApproveHunks(AnswerDetails, frozen=True, kw_only=True, tag="approveHunks"):
    """Yes to these hunks of the diff, counted from 0, and to no others."""

    hunks: tuple[int, ...] = ()


class Reject(AnswerDetails, frozen=True, kw_only=True, tag="reject"):
    """No; `text` says why."""


class Say(AnswerDetails, frozen=True, kw_only=True, tag="say"):
    """Words: the answer to a question, or how to go on. To a request for approval they are a no.

    Where a task is done or was interrupted they may be a command line of the person's own (`is_command`): it is run,
    and the model is shown its output together with the next words.
    """

    is_command: bool = False


Answer = Approve | ApproveEdited | ApproveInput | ApproveHunks | Reject | Say

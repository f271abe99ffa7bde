"""One call of a session: what was asked for, what was said before it, who let it run, and what it cost."""

from enum import StrEnum
from typing import Any

import msgspec

APPROVED = "yesButtonClicked"
REJECTED = "noButtonClicked"


class Approver(StrEnum):
    """Who decided about a call."""

    PERSON = "person"
    RULE = "rule"
    HOOK = "hook"
    MODE = "mode"
    NOBODY = "nobody"  # the log does not say; it never came before policy


class CallStory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A call as its log tells it; fields that the log does not tell have their defaults.

    `prompt` is what the person had asked for, `said` what the model said before the call, `intent` what it had
    selected. `reason` and `rule` are those of policy. `asked_ms` and `answered_ms` are when a person was asked and
    answered. `cost` is that of the request whose reply held the call.
    """

    call_id: str
    tool: str
    task_id: str = ""
    input: dict[str, Any] = {}
    started_ms: int = 0
    status: str = ""
    model: str = ""
    prompt: str = ""
    said: str = ""
    intent: str = ""
    permission_mode: str = ""
    decision: str = ""
    reason: str = ""
    rule: str = ""
    asked_ms: int = 0
    answered_ms: int = 0
    answer: str = ""
    answer_text: str = ""
    cost: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def approver(self) -> Approver:
        """Who decided, if the log says."""
        if self.answer:
            return Approver.PERSON
        if self.rule == "hook" or " hook" in self.reason[:20].lower():
            return Approver.HOOK
        if self.rule:
            return Approver.RULE
        return Approver.MODE if self.decision else Approver.NOBODY

    @property
    def looked_ms(self) -> int | None:
        """How long the question was open; None if no person answered."""
        return self.answered_ms - self.asked_ms if self.answered_ms and self.asked_ms else None

    @property
    def is_refused(self) -> bool:
        """Whether the call did not run because somebody, or a rule, said no."""
        return self.status == "denied"


class ShownChange(msgspec.Struct, frozen=True, kw_only=True):
    """The difference that a row shows for a call, as it was worked out before the call ran."""

    path: str
    diff: str


class CallChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the files that a call changed.

    `before` and `after` are checkpoints: what differs was changed by the call, as far as anybody knows; they are empty
    as long as there is none after the call. `paths` are the files that the call itself says it wrote; there are none
    for a command, which may have changed any.
    """

    story: CallStory
    before: str = ""
    after: str = ""
    paths: tuple[str, ...] = ()
    shown: tuple[ShownChange, ...] = ()

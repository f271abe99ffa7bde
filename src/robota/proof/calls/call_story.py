"""One call of a session with its prompt, the text before it, who approved it, and its cost."""

from enum import StrEnum
from typing import Any

import msgspec

from robota.log.kinds.calls import AnsweredBy

APPROVED = "yesButtonClicked"
REJECTED = "noButtonClicked"
CHANGED = "objectResponse"  # approved with another input


class Approver(StrEnum):
    """Who decided about a call."""

    PERSON = "person"
    RULE = "rule"
    HOOK = "hook"
    MODE = "mode"
    NOBODY = "nobody"  # the log has no decision: policy was not asked


class CallStory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A call as recorded in its log; fields that the log lacks have their defaults.

    `prompt` is that of the user, `said` the text of the model before the call, `intent` the selected intent. `reason`
    and `rule` are those of the policy. `refusal` is why a hook or the intents refused the call, before the policy was
    asked or after the user approved it. `asked_ms` and `answered_ms` are the times of an approval. `cost` is that of
    the request whose reply contained the call.
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
    refusal: str = ""
    asked_ms: int = 0
    answered_ms: int = 0
    answer: str = ""
    answer_text: str = ""
    answered_by: AnsweredBy | None = None
    cost: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def approver(self) -> Approver:
        """Who decided, if the log says."""
        if self.refusal:
            return Approver.HOOK
        if self.answer:
            return Approver.PERSON
        if self.rule == "hook" or " hook" in self.reason[:20].lower():
            return Approver.HOOK
        if self.rule:
            return Approver.RULE
        return Approver.MODE if self.decision else Approver.NOBODY

    @property
    def looked_ms(self) -> int | None:
        """How long the question was open; None if the user did not answer."""
        return self.answered_ms - self.asked_ms if self.answered_ms and self.asked_ms else None

    @property
    def is_refused(self) -> bool:
        """Whether the call did not run because the user, a hook or a rule refused it."""
        return self.status == "denied"


class ShownChange(msgspec.Struct, frozen=True, kw_only=True):
    """The diff that a row shows for a call, as computed before the call ran."""

    path: str
    diff: str


class CallChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a call changed.

    `before` and `after` are the checkpoints around the call, whose difference is attributed to it; both are empty until
    there is one after it. `paths` are the files that the call reported as written; a command reports none.
    """

    story: CallStory
    before: str = ""
    after: str = ""
    paths: tuple[str, ...] = ()
    shown: tuple[ShownChange, ...] = ()

"""The asks of the engine: one type for each kind of question."""

import re
from enum import StrEnum
from typing import Any, Final

import msgspec

from robota.protocol.views import DiffView, View
from robota.protocol.wire import Value

DIGEST: Final = re.compile(r"\)#[0-9a-f]+$")
EDITED_PLAN: Final = "Edited plan:"


def without_digest(rule: str) -> str:
    """A rule as users read it; the digest stands for the files that it depends on."""
    return DIGEST.sub(")", rule)


class AskDetails(Value, frozen=True, kw_only=True, tag_field="kind"):
    """The base of all asks; `kind` names which one it is on the wire."""


class JudgedPart(Value, frozen=True, kw_only=True, omit_defaults=False):
    """The verdict about one simple command of a shell command; `decision` is allow, ask or deny."""

    text: str
    decision: str
    reason: str
    rule: str | None = None


class OfferedRules(Value, frozen=True, kw_only=True, omit_defaults=False):
    """Rules that, granted together, would stop this question. `covers` says what else they allow."""

    rules: tuple[str, ...]
    covers: str

    @property
    def shown(self) -> str:
        """The rules for a reader, without their digests: what these stand for is in `covers`."""
        return " ".join(map(without_digest, self.rules))


class ApprovalVerdict(Value, frozen=True, kw_only=True, omit_defaults=False):
    """Why a call needs approval.

    `rule` is the rule that requires it, if one does; a shell command has `parts`; `suggestions` begin with the
    narrowest, and if there are none, `no_rule` says why, as words to follow a colon; `warnings` are about invisible
    characters in the text. `changed` is how files differ from those with which the user allowed the same command.
    """

    reason: str = ""
    rule: str | None = None
    parts: tuple[JudgedPart, ...] = ()
    suggestions: tuple[OfferedRules, ...] = ()
    warnings: tuple[str, ...] = ()
    no_rule: str = ""
    changed: tuple[DiffView, ...] = ()


class EditableField(Value, frozen=True, kw_only=True):
    """The argument of a call that the user may edit before approving, and its current text."""

    name: str
    text: str


class ApprovalSubject(Value, frozen=True, kw_only=True, tag_field="kind"):
    """The base of what an approval is about; `kind` names which one it is on the wire."""


class CallSubject(ApprovalSubject, frozen=True, kw_only=True, tag="call"):
    """A call: as the model wrote it or, if `tool` is given, this one, which a hook or a second try has made of it."""

    tool: str = ""
    input: dict[str, Any] = msgspec.field(default_factory=dict)


class UnseenLines(ApprovalSubject, frozen=True, kw_only=True, tag="unseen"):
    """The lines of a call that were too many to show; the call itself has been approved."""

    lines: int


class FilesLeftBehind(ApprovalSubject, frozen=True, kw_only=True, tag="files"):
    """Files that a command has left behind, which other programs obey: may they stay?"""

    paths: tuple[str, ...]


class ApprovalAsk(AskDetails, frozen=True, kw_only=True, tag="approval"):
    """May this call run? `choosable_hunks` is how many hunks of the diff in `view` can be approved one by one."""

    title: str
    subject: CallSubject | UnseenLines | FilesLeftBehind = CallSubject()
    view: View | None = None
    verdict: ApprovalVerdict = ApprovalVerdict()
    editable: EditableField | None = None
    choosable_hunks: int = 0


class SuggestedAnswer(Value, frozen=True, kw_only=True):
    """An answer that the model suggests; choosing it switches to `mode`, if there is one."""

    answer: str
    mode: str | None = None


class QuestionAsk(AskDetails, frozen=True, kw_only=True, tag="question"):
    """A question of the model. After `default_after_s` seconds without an answer, the first suggestion is taken."""

    question: str
    suggestions: tuple[SuggestedAnswer, ...] = ()
    default_after_s: float | None = None


class ElicitationAsk(QuestionAsk, frozen=True, kw_only=True, tag="elicitation"):
    """A question of an MCP server while it runs a call: one value that it requests.

    `field` is the name of the value and `field_type` its JSON type; both are empty where only a yes or no is wanted.
    The last of the `suggestions` declines. The answer goes to the server.
    """

    server: str
    field: str = ""
    field_type: str = ""
    is_required: bool = True


class PlanAsk(QuestionAsk, frozen=True, kw_only=True, tag="plan"):
    """May the plan, which the model has presented in Markdown, be carried out? The suggestions accept it.

    An answer that begins with `EDITED_PLAN` replaces the plan, which is then asked about; any other sends it back.
    """

    plan: str


class LimitKind(StrEnum):
    """The kind of limit."""

    REQUESTS = "requests"
    COST = "cost"


class LimitAsk(AskDetails, frozen=True, kw_only=True, tag="limit"):
    """A limit of `count` requests or US dollars is reached. May the task continue for as much again?

    `text` says in words which budget is used up, and how: it need not be one of money.
    """

    limit: LimitKind
    count: float
    text: str = ""


class MistakeKind(StrEnum):
    """The kind of mistake: replies without effect, or the same call over and over."""

    USELESS_REPLIES = "uselessReplies"
    REPEATED_CALL = "repeatedCall"


class MistakesAsk(AskDetails, frozen=True, kw_only=True, tag="mistakes"):
    """The model makes mistakes or loops. How should it continue?"""

    message: str
    mistake: MistakeKind = MistakeKind.USELESS_REPLIES


class Fault(Value, frozen=True, kw_only=True):
    """Why a request to a model failed, in a form that scripts can act on."""

    kind: str
    message: str
    retryable: bool = False
    status: int | None = None


class FailureAsk(AskDetails, frozen=True, kw_only=True, tag="failure"):
    """A model request failed after all retries. `message` says why and what can be done. Retry or give up?"""

    message: str
    fault: Fault | None = None


class CompletionAsk(AskDetails, frozen=True, kw_only=True, tag="completion"):
    """The task is done. What next?"""


class ResumeAsk(AskDetails, frozen=True, kw_only=True, tag="resume"):
    """The task was interrupted, or was complete when the session ended. Resume it?"""

    is_completed: bool = False


Ask = (
    ApprovalAsk
    | QuestionAsk
    | ElicitationAsk
    | PlanAsk
    | LimitAsk
    | MistakesAsk
    | FailureAsk
    | CompletionAsk
    | ResumeAsk
)

"""The asks of the engine: one type for each kind of question."""

from enum import StrEnum

from robota.protocol.views import View
from robota.protocol.wire import Value


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


class ApprovalVerdict(Value, frozen=True, kw_only=True, omit_defaults=False):
    """Why a call needs approval.

    `rule` is the rule that requires it, if one does; a shell command has `parts`; `suggestions` begin with the
    narrowest; `warnings` are about invisible characters in the text.
    """

    reason: str = ""
    rule: str | None = None
    parts: tuple[JudgedPart, ...] = ()
    suggestions: tuple[OfferedRules, ...] = ()
    warnings: tuple[str, ...] = ()


class EditableField(Value, frozen=True, kw_only=True):
    """The argument of a call that the user may edit before approving, and its current text."""

    name: str
    text: str


class ApprovalAsk(AskDetails, frozen=True, kw_only=True, tag="approval"):
    """May this call run? `choosable_hunks` is how many hunks of the diff in `view` can be approved one by one."""

    title: str
    view: View | None = None
    verdict: ApprovalVerdict = ApprovalVerdict()
    editable: EditableField | None = None
    choosable_hunks: int = 0


class SuggestedAnswer(Value, frozen=True, kw_only=True):
    """An answer that the model suggests; choosing it switches to `mode`, if there is one."""

    answer: str
    mode: str | None = None


class QuestionAsk(AskDetails, frozen=True, kw_only=True, tag="question"):
    """A question of the model."""

    question: str
    suggestions: tuple[SuggestedAnswer, ...] = ()


class ElicitationAsk(QuestionAsk, frozen=True, kw_only=True, tag="elicitation"):
    """A question of an MCP server while it runs a call: one value that it requests.

    `field` is the name of the value and `field_type` its JSON type; both are empty where only a yes or no is wanted.
    The last of the `suggestions` declines. The answer goes to the server.
    """

    server: str
    field: str = ""
    field_type: str = ""
    is_required: bool = True


class LimitKind(StrEnum):
    """What is limited."""

    REQUESTS = "requests"
    COST = "cost"


class LimitAsk(AskDetails, frozen=True, kw_only=True, tag="limit"):
    """A limit of `count` requests or US dollars is reached. May the task continue for as much again?"""

    limit: LimitKind
    count: float


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


Ask = ApprovalAsk | QuestionAsk | ElicitationAsk | LimitAsk | MistakesAsk | FailureAsk | CompletionAsk | ResumeAsk

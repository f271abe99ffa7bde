"""What the engine asks: one typed value for each kind of question."""

from enum import StrEnum

from robota.protocol.views import View
from robota.protocol.wire import Value


class AskDetails(Value, frozen=True, kw_only=True, tag_field="kind"):
    """The base of all asks; `kind` names which one it is on the wire."""


class JudgedPart(Value, frozen=True, kw_only=True, omit_defaults=False):
    """What policy says of one simple command of many; `decision` is allow, ask or deny."""

    text: str
    decision: str
    reason: str
    rule: str | None = None


class OfferedRules(Value, frozen=True, kw_only=True, omit_defaults=False):
    """Rules that, granted together, would stop this question. `covers` says in words what else they allow."""

    rules: tuple[str, ...]
    covers: str


class ApprovalVerdict(Value, frozen=True, kw_only=True, omit_defaults=False):
    """Why a call is asked about.

    `rule` asks for it, if one does; `parts` are there for a shell command; `suggestions` begin with the narrowest;
    `warnings` are about what cannot be seen in the text.
    """

    reason: str = ""
    rule: str | None = None
    parts: tuple[JudgedPart, ...] = ()
    suggestions: tuple[OfferedRules, ...] = ()
    warnings: tuple[str, ...] = ()


class EditableField(Value, frozen=True, kw_only=True):
    """The one argument of a call that a person may change before they approve it, and its text now."""

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
    """An answer that the model suggests; `mode` is the one it wants to go on in then."""

    answer: str
    mode: str | None = None


class QuestionAsk(AskDetails, frozen=True, kw_only=True, tag="question"):
    """A question of the model."""

    question: str
    suggestions: tuple[SuggestedAnswer, ...] = ()


class ElicitationAsk(QuestionAsk, frozen=True, kw_only=True, tag="elicitation"):
    """A question of an MCP server, asked while it works on a call: one value that it wants to be given.

    `field` is the name of the value and `field_type` its JSON type; both are empty where only a yes or no is wanted.
    The `suggestions` end with the words that decline. What is answered goes to the server.
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
    """A limit is reached: `count` requests, or US dollars. May the task go on for as much again?"""

    limit: LimitKind
    count: float


class MistakeKind(StrEnum):
    """What the model does wrong: replies that lead nowhere, or one call over and over."""

    USELESS_REPLIES = "uselessReplies"
    REPEATED_CALL = "repeatedCall"


class MistakesAsk(AskDetails, frozen=True, kw_only=True, tag="mistakes"):
    """The model makes mistakes or goes round in circles. How to go on?"""

    message: str
    mistake: MistakeKind = MistakeKind.USELESS_REPLIES


class Fault(Value, frozen=True, kw_only=True):
    """Why a request to a model failed, in a form that scripts can act on."""

    kind: str
    message: str
    retryable: bool = False
    status: int | None = None


class FailureAsk(AskDetails, frozen=True, kw_only=True, tag="failure"):
    """A request failed for good. `message` says why and what can be done; try again, or give up?"""

    message: str
    fault: Fault | None = None


class CompletionAsk(AskDetails, frozen=True, kw_only=True, tag="completion"):
    """The task is done. What next?"""


class ResumeAsk(AskDetails, frozen=True, kw_only=True, tag="resume"):
    """The task was interrupted, or was complete when the session ended. Take it up again?"""

    is_completed: bool = False


Ask = ApprovalAsk | QuestionAsk | ElicitationAsk | LimitAsk | MistakesAsk | FailureAsk | CompletionAsk | ResumeAsk

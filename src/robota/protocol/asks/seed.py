"""The one place that translates between typed asks and answers and the seed's text and JSON.

Clients and engines that know only `ask`, `text` and `askResponse` go on to work because of it.
"""

import json
from typing import Any, Final, assert_never

import msgspec

from robota.protocol.asks.answer import (
    Answer,
    Approve,
    ApproveEdited,
    ApproveHunks,
    ApproveInput,
    GrantScope,
    Reject,
    Say,
)
from robota.protocol.asks.ask import (
    ApprovalAsk,
    ApprovalVerdict,
    Ask,
    CompletionAsk,
    FailureAsk,
    LimitAsk,
    LimitKind,
    MistakesAsk,
    QuestionAsk,
    ResumeAsk,
    SuggestedAnswer,
)
from robota.protocol.asks.kinds import APPROVAL_ASKS
from robota.protocol.commands import AskResponse
from robota.protocol.message import Message
from robota.protocol.views import FieldsView, NamedText, TerminalView, TextView, View

YES: Final = "yesButtonClicked"
NO: Final = "noButtonClicked"
WORDS: Final = "messageResponse"
OBJECT: Final = "objectResponse"
RESPONSES: Final = (WORDS, NO, OBJECT, YES)


class UnknownResponse(ValueError):
    """An `askResponse` that means nothing; the text says which there are."""


class SeedAsk(msgspec.Struct, frozen=True):
    """An ask as the seed's clients know it: its kind, and the text, which is JSON for some kinds."""

    kind: str
    text: str | None = None


def ask_of(message: Message) -> Ask | None:
    """What a message asks: its typed value, or what the seed's kind and text tell; None if it asks nothing known."""
    if message.asked is not None or message.type != "ask" or message.ask is None:
        return message.asked
    text = message.text or ""
    if message.ask in APPROVAL_ASKS:
        verdict = message.verdict or ApprovalVerdict()
        return ApprovalAsk(title=message.ask, view=view_in(SeedAsk(message.ask, text)), verdict=verdict)
    return _other_ask(message, text)


def view_in(seed: SeedAsk) -> View:
    """What the text of a request for approval shows: a command, or what its JSON tells by name."""
    text = seed.text or ""
    if seed.kind == "command":
        return TerminalView(command=text, output="")
    told = _object_in(text)
    if seed.kind == "use_mcp_server":
        return _foreign_call(told)
    fields = _named_texts({name: value for name, value in told.items() if name != "tool"})
    if len(fields) == 1:
        return TextView(text=fields[0].text)
    return FieldsView(fields=fields) if fields else TextView(text=text)


def _foreign_call(told: dict[str, Any]) -> View:
    """Which server and which tool, then the arguments; what they do is known to the server alone."""
    what = told.get("toolName") or told.get("uri") or told.get("type")
    heading = f"{what} of the MCP server {told.get('serverName')}"
    arguments = told.get("arguments")
    decoded = _object_in(arguments) if isinstance(arguments, str) else arguments
    if isinstance(decoded, dict) and decoded:
        return FieldsView(heading=heading, fields=_named_texts(decoded))
    return FieldsView(heading=heading, fields=(NamedText(name="arguments", text=str(arguments)),) if arguments else ())


def _named_texts(told: dict[str, Any]) -> tuple[NamedText, ...]:
    return tuple(
        NamedText(name=name, text=value if isinstance(value, str) else _json(value)) for name, value in told.items()
    )


def _other_ask(message: Message, text: str) -> Ask | None:
    match message.ask:
        case "followup":
            return question_in(text)
        case "auto_approval_max_req_reached":
            told = _object_in(text)
            limit = LimitKind.COST if told.get("type") == LimitKind.COST else LimitKind.REQUESTS
            return LimitAsk(limit=limit, count=_number(told.get("count")))
        case "mistake_limit_reached":
            return MistakesAsk(message=text)
        case "api_req_failed":
            return FailureAsk(message=text, fault=message.fault)
        case "completion_result":
            return CompletionAsk()
        case "resume_task" | "resume_completed_task":
            return ResumeAsk(is_completed=message.ask == "resume_completed_task")
    return None


def question_in(text: str) -> QuestionAsk:
    """The question in the text of a `followup` ask, which is JSON."""
    told = _object_in(text)
    question = told.get("question")
    if not isinstance(question, str):
        return QuestionAsk(question=text)
    suggested = told.get("suggest")
    suggestions = [_suggestion(each) for each in suggested if _suggests(each)] if isinstance(suggested, list) else []
    return QuestionAsk(question=question, suggestions=tuple(suggestions))


def seed_ask(asked: Ask) -> SeedAsk:
    """The seed's form of an ask. That of an approval is the tool's own; here it is only its title."""
    match asked:
        case ApprovalAsk():
            return SeedAsk("tool", asked.title)
        case QuestionAsk():
            return SeedAsk("followup", _json({"question": asked.question, "suggest": asked.suggestions}))
        case LimitAsk():
            # An amount of money has two decimals and is a string.
            count = int(asked.count) if asked.limit is LimitKind.REQUESTS else f"{asked.count:.2f}"
            return SeedAsk("auto_approval_max_req_reached", json.dumps({"count": count, "type": asked.limit}))
        case MistakesAsk():
            return SeedAsk("mistake_limit_reached", asked.message)
        case FailureAsk():
            return SeedAsk("api_req_failed", asked.message)
        case CompletionAsk():
            return SeedAsk("completion_result", "")
        case ResumeAsk():
            return SeedAsk("resume_completed_task" if asked.is_completed else "resume_task")
        case never:
            assert_never(never)


def answer_in(command: AskResponse) -> Answer:
    """The answer that a command carries, typed or in the seed's form; raises `UnknownResponse`."""
    if command.answer is not None:
        return command.answer
    text, images = command.text or "", command.images
    match command.ask_response:
        case "yesButtonClicked":
            scope = _grant_scope(command.grant_scope)
            return Approve(text=text, images=images, grant=command.grant, grant_scope=scope)
        case "noButtonClicked":
            return Reject(text=text, images=images)
        case "messageResponse":
            return Say(text=text, images=images)
        case "objectResponse":
            return _object_answer(text, images)
    told = f"{command.ask_response!r} is not an answer; answers are {', '.join(RESPONSES)}."
    raise UnknownResponse(told)


def seed_form(answer: Answer) -> tuple[str, str]:
    """The `askResponse` and the text by which the seed's clients and the log know an answer."""
    match answer:
        case Approve():
            return YES, answer.text
        case Reject():
            return NO, answer.text
        case Say():
            return WORDS, answer.text
        case ApproveEdited():
            return OBJECT, _json({"edited": answer.edited})
        case ApproveInput():
            return OBJECT, _json({"input": answer.input})
        case ApproveHunks():
            return OBJECT, _json({"hunks": answer.hunks})
        case never:
            assert_never(never)


def _grant_scope(name: str) -> GrantScope:
    try:
        return GrantScope(name)
    except ValueError as error:
        raise UnknownResponse(f"grantScope {name!r} is neither session, project nor user.") from error


def _object_answer(text: str, images: tuple[str, ...]) -> Answer:
    """A yes to something else, in JSON. What cannot be read is no yes, but words."""
    told = _object_in(text)
    if isinstance(told.get("input"), dict):
        return ApproveInput(images=images, input=told["input"])
    hunks = told.get("hunks")
    if isinstance(hunks, list) and all(isinstance(number, int) for number in hunks):
        return ApproveHunks(images=images, hunks=tuple(hunks))
    return Say(text=text, images=images)


def _object_in(text: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _suggests(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("answer"), str)


def _suggestion(told: dict[str, Any]) -> SuggestedAnswer:
    mode = told.get("mode")
    return SuggestedAnswer(answer=told["answer"], mode=mode if isinstance(mode, str) and mode else None)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0

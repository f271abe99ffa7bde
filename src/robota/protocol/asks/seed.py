"""Translates between typed asks and answers and the text and JSON of the seed protocol.

It lets clients and engines work that know only `ask`, `text` and `askResponse`.
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
MESSAGE: Final = "messageResponse"
OBJECT: Final = "objectResponse"
RESPONSES: Final = (MESSAGE, NO, OBJECT, YES)


class UnknownResponse(ValueError):
    """An unknown `askResponse`; the text lists the known ones."""


class SeedAsk(msgspec.Struct, frozen=True):
    """An ask in the seed protocol: its kind, and its text, which is JSON for some kinds."""

    kind: str
    text: str | None = None


def ask_of(message: Message) -> Ask | None:
    """The ask of a message: its typed value, or one made from the seed's kind and text; None if unknown."""
    if message.asked is not None or message.type != "ask" or message.ask is None:
        return message.asked
    text = message.text or ""
    if message.ask in APPROVAL_ASKS:
        verdict = message.verdict or ApprovalVerdict()
        return ApprovalAsk(title=message.ask, view=view_in(SeedAsk(message.ask, text)), verdict=verdict)
    return _other_ask(message, text)


def view_in(seed: SeedAsk) -> View:
    """The view of an approval in the seed protocol: a command, or the fields of its JSON."""
    text = seed.text or ""
    if seed.kind == "command":
        return TerminalView(command=text, output="")
    content = _object_in(text)
    if seed.kind == "use_mcp_server":
        return _foreign_call(content)
    fields = _named_texts({name: value for name, value in content.items() if name != "tool"})
    if len(fields) == 1:
        return TextView(text=fields[0].text)
    return FieldsView(fields=fields) if fields else TextView(text=text)


def _foreign_call(content: dict[str, Any]) -> View:
    """The view of an MCP call: server and tool as heading, then the arguments."""
    what = content.get("toolName") or content.get("uri") or content.get("type")
    heading = f"{what} of the MCP server {content.get('serverName')}"
    arguments = content.get("arguments")
    decoded = _object_in(arguments) if isinstance(arguments, str) else arguments
    if isinstance(decoded, dict) and decoded:
        return FieldsView(heading=heading, fields=_named_texts(decoded))
    return FieldsView(heading=heading, fields=(NamedText(name="arguments", text=str(arguments)),) if arguments else ())


def _named_texts(content: dict[str, Any]) -> tuple[NamedText, ...]:
    return tuple(
        NamedText(name=name, text=value if isinstance(value, str) else _json(value)) for name, value in content.items()
    )


def _other_ask(message: Message, text: str) -> Ask | None:
    match message.ask:
        case "followup":
            return question_in(text)
        case "auto_approval_max_req_reached":
            content = _object_in(text)
            limit = LimitKind.COST if content.get("type") == LimitKind.COST else LimitKind.REQUESTS
            return LimitAsk(limit=limit, count=_number(content.get("count")))
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
    content = _object_in(text)
    question = content.get("question")
    if not isinstance(question, str):
        return QuestionAsk(question=text)
    suggested = content.get("suggest")
    suggestions = [_suggestion(each) for each in suggested if _suggests(each)] if isinstance(suggested, list) else []
    return QuestionAsk(question=question, suggestions=tuple(suggestions))


def seed_ask(asked: Ask) -> SeedAsk:
    """An ask in the seed protocol. For an approval, tools make a better text; here it is only the title."""
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
    """The answer in a command, typed or in the seed's form; raises `UnknownResponse`."""
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
    content = f"{command.ask_response!r} is not an answer; answers are {', '.join(RESPONSES)}."
    raise UnknownResponse(content)


def seed_form(answer: Answer) -> tuple[str, str]:
    """An answer in the seed protocol, as the log and the seed's clients use it: `askResponse` and text."""
    match answer:
        case Approve():
            return YES, answer.text
        case Reject():
            return NO, answer.text
        case Say():
            return MESSAGE, answer.text
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
    """An approval with changes, in JSON. Anything unreadable counts as a text, not as an approval."""
    content = _object_in(text)
    if isinstance(content.get("input"), dict):
        return ApproveInput(images=images, input=content["input"])
    if isinstance(content.get("edited"), str):
        return ApproveEdited(images=images, edited=content["edited"])
    hunks = content.get("hunks")
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


def _suggestion(content: dict[str, Any]) -> SuggestedAnswer:
    mode = content.get("mode")
    return SuggestedAnswer(answer=content["answer"], mode=mode if isinstance(mode, str) and mode else None)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0

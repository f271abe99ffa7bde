"""MCP elicitation: asks the user for the values that a server requests, one question each, and validates them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

import msgspec

from robota.protocol.asks.ask import ElicitationAsk, SuggestedAnswer
from robota.text.visible import single_line, visible

ACCEPT: Final = "accept"
DECLINE: Final = "decline"
SKIP: Final = "leave it out"
MAX_FIELDS: Final = 20
MAX_TRIES: Final = 5
MAX_OPTIONS: Final = 50
MAX_MESSAGE: Final = 2000
MAX_TITLE: Final = 200
BOOLEAN_WORDS: Final = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}

AskUser = Callable[[ElicitationAsk], Awaitable[str | None]]
Value = str | int | float | bool | list[str]


class InvalidValue(Exception):
    """The answer is not a value of the requested type; the message says what is expected."""


class RequestedField(msgspec.Struct, frozen=True, kw_only=True):
    """One value that a server requests. `words` is its title and description for the user."""

    name: str
    type: str
    words: str
    options: tuple[str, ...] = ()
    default: str = ""
    is_required: bool = False


async def request_values(server: str, message: str, schema: Mapping[str, Any], ask: AskUser) -> dict[str, Value] | None:
    """Ask for each value of the schema; None if the user declines. Without fields, ask only for confirmation."""
    shown_message = f"The MCP server {server} asks: {visible(message)[:MAX_MESSAGE]}"
    fields = requested_fields(schema)
    if not fields:
        return {} if await is_confirmed(server, shown_message, ask) else None
    values: dict[str, Value] = {}
    for number, field in enumerate(fields, start=1):
        head = f"{shown_message}\n({number} of {len(fields)}) {field.words}"
        given = await _request_value(server, field, head, ask)
        if given is None:
            return None
        values |= given
    return values


async def is_confirmed(server: str, question: str, ask: AskUser) -> bool:
    """Ask the user to accept or decline."""
    suggestions = (SuggestedAnswer(answer=ACCEPT), SuggestedAnswer(answer=DECLINE))
    answer = await ask(ElicitationAsk(server=server, question=question, suggestions=suggestions))
    # An empty answer is no consent: somebody may only have pressed Enter.
    return answer is not None and answer.strip().lower() in (ACCEPT, "yes", "y")


def open_page_question(server: str, message: str, url: str) -> str:
    """The question whether to open a page that a server names. Robota itself does not open it."""
    shown_message = visible(message)[:MAX_MESSAGE]
    where = single_line(url, MAX_MESSAGE)
    return f"The MCP server {server} wants you to open this page in a browser: {where}\n{shown_message}"


def requested_fields(schema: Mapping[str, Any]) -> tuple[RequestedField, ...]:
    """The first `MAX_FIELDS` fields of a form."""
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, Mapping):
        return ()
    required_names = required if isinstance(required, list) else []
    fields = (_field(name, described, name in required_names) for name, described in properties.items())
    return tuple(fields)[:MAX_FIELDS]


async def _request_value(server: str, field: RequestedField, head: str, ask: AskUser) -> dict[str, Value] | None:
    """The value by its name; an empty dict if it is skipped, None if the user declines or answers wrongly too often."""
    question, suggested = f"{head}{_hint(field)}", _suggestions(field)
    for _ in range(MAX_TRIES):
        request = ElicitationAsk(
            server=server,
            question=question,
            suggestions=tuple(SuggestedAnswer(answer=word) for word in suggested),
            field=field.name,
            field_type=field.type,
            is_required=field.is_required,
        )
        answer = await ask(request)
        if answer is None or answer.strip() == DECLINE:
            return None
        if answer.strip() == SKIP and not field.is_required:
            return {}
        try:
            return {field.name: _parsed(field, answer.strip())}
        except InvalidValue as problem:
            question = f"{head}{_hint(field)}\n{problem}"
    return None


def _suggestions(field: RequestedField) -> tuple[str, ...]:
    """The answers that can be chosen by number; none for free values, where a number could be the value itself."""
    if not field.options:
        return ()
    offered = (field.default, *(option for option in field.options if option != field.default))
    return (*filter(None, offered), *(() if field.is_required else (SKIP,)), DECLINE)


def _hint(field: RequestedField) -> str:
    """What can be typed, for a field without suggestions."""
    if field.options:
        return ""
    usual = f"The default is {field.default}. " if field.default else ""
    others = f"{DECLINE!r}" if field.is_required else f"{SKIP!r} or {DECLINE!r}"
    return f"\n{usual}Type the value, or {others}."


def _field(name: str, described: Any, is_required: bool) -> RequestedField:
    schema = described if isinstance(described, Mapping) else {}
    kind = str(schema.get("type", "string"))
    items = schema.get("items")
    options = _options(items if kind == "array" and isinstance(items, Mapping) else schema)
    if kind == "boolean":
        options = ("yes", "no")
    default = schema.get("default")
    title = single_line(str(schema.get("title") or name), MAX_TITLE)
    about = single_line(str(schema.get("description") or ""), MAX_MESSAGE)
    several = " Several are separated by commas." if kind == "array" else ""
    return RequestedField(
        name=name,
        type=kind,
        words=f"{title}{f': {about}' if about else ''}{several}",
        options=options,
        default="" if default is None or kind == "array" else _default_text(default),
        is_required=is_required,
    )


def _default_text(default: Any) -> str:
    return ("yes" if default else "no") if isinstance(default, bool) else single_line(str(default), MAX_TITLE)


def _options(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The values to choose from: an `enum`, or `const` values with titles."""
    plain: Sequence[Any] = schema.get("enum") or ()
    titled: list[Any] = next((schema[key] for key in ("oneOf", "anyOf") if isinstance(schema.get(key), list)), [])
    named = [option.get("const") for option in titled if isinstance(option, Mapping)]
    values = [*(plain if isinstance(plain, list) else ()), *named]
    return tuple(value for value in values if isinstance(value, str))[:MAX_OPTIONS]


def _parsed(field: RequestedField, words: str) -> Value:
    if not words:
        raise InvalidValue("Type an answer; an empty one is not sent.")
    match field.type:
        case "boolean":
            if words.lower() not in BOOLEAN_WORDS:
                raise InvalidValue("Answer yes or no.")
            return BOOLEAN_WORDS[words.lower()]
        case "integer" | "number":
            return _number(words, int if field.type == "integer" else float)
        case "array":
            chosen = [word.strip() for word in words.split(",") if word.strip()]
            return [_option(field, word) for word in chosen]
        case _:
            return _option(field, words)


def _number(words: str, kind: Callable[[str], int | float]) -> int | float:
    try:
        value = kind(words)
    except (ValueError, OverflowError) as error:
        raise InvalidValue(f"{single_line(words)!r} is not a number of this kind.") from error
    if not isfinite(value):
        raise InvalidValue(f"{single_line(words)!r} is not a number of this kind.")
    return value


def _option(field: RequestedField, word: str) -> str:
    if field.options and word not in field.options:
        raise InvalidValue(f"It must be one of: {', '.join(field.options)}.")
    return word

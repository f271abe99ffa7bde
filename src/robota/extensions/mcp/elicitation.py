"""What a server wants to know from the person while it works: one question for each value, whose answer is checked."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

import msgspec

from robota.protocol.asks.ask import ElicitationAsk, SuggestedAnswer
from robota.text.visible import single_line, visible

ACCEPT: Final = "accept"
DECLINE: Final = "decline"
SKIP: Final = "leave it out"
MOST_FIELDS: Final = 20
MOST_TRIES: Final = 5
MOST_OPTIONS: Final = 50
LONGEST_MESSAGE: Final = 2000
LONGEST_WORD: Final = 200
YES: Final = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}

AskPerson = Callable[[ElicitationAsk], Awaitable[str | None]]
Value = str | int | float | bool | list[str]


class WrongValue(Exception):
    """The person's words are no value of this kind; the text says what is."""


class RequestedField(msgspec.Struct, frozen=True, kw_only=True):
    """One value that a server wants, as its schema describes it."""

    name: str
    type: str
    words: str
    options: tuple[str, ...] = ()
    default: str = ""
    is_required: bool = False


async def filled_in(server: str, message: str, schema: Mapping[str, Any], ask: AskPerson) -> dict[str, Value] | None:
    """The values that the person gives, or None if they decline. Without fields it is only asked for a yes."""
    shown_message = f"The MCP server {server} asks: {visible(message)[:LONGEST_MESSAGE]}"
    fields = requested_fields(schema)
    if not fields:
        return {} if await is_agreed_to(server, shown_message, ask) else None
    values: dict[str, Value] = {}
    for number, field in enumerate(fields, start=1):
        head = f"{shown_message}\n({number} of {len(fields)}) {field.words}"
        given = await _value(server, field, head, ask)
        if given is None:
            return None
        values |= given
    return values


async def is_agreed_to(server: str, question: str, ask: AskPerson) -> bool:
    """Whether the person says yes."""
    suggestions = (SuggestedAnswer(answer=ACCEPT), SuggestedAnswer(answer=DECLINE))
    answer = await ask(ElicitationAsk(server=server, question=question, suggestions=suggestions))
    return answer is not None and answer.strip().lower() in (ACCEPT, "yes", "y", "")


def page_question(server: str, message: str, url: str) -> str:
    """Whether the person wants to go to a page that a server names; Robota does not open it."""
    shown_message = visible(message)[:LONGEST_MESSAGE]
    where = single_line(url, LONGEST_MESSAGE)
    return f"The MCP server {server} wants you to open this page in a browser: {where}\n{shown_message}"


def requested_fields(schema: Mapping[str, Any]) -> tuple[RequestedField, ...]:
    """The fields of a form, within bounds."""
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, Mapping):
        return ()
    needed = required if isinstance(required, list) else []
    fields = (_field(name, described, name in needed) for name, described in properties.items())
    return tuple(fields)[:MOST_FIELDS]


async def _value(server: str, field: RequestedField, head: str, ask: AskPerson) -> dict[str, Value] | None:
    """The value by its name, nothing if it is left out, None if the person declines."""
    question, suggested = f"{head}{_hint(field)}", _suggested(field)
    for _ in range(MOST_TRIES):
        asked = ElicitationAsk(
            server=server,
            question=question,
            suggestions=tuple(SuggestedAnswer(answer=word) for word in suggested),
            field=field.name,
            field_type=field.type,
            is_required=field.is_required,
        )
        answer = await ask(asked)
        if answer is None or answer.strip() == DECLINE:
            return None
        if answer.strip() == SKIP and not field.is_required:
            return {}
        try:
            return {field.name: _read(field, answer.strip())}
        except WrongValue as problem:
            question = f"{head}{_hint(field)}\n{problem}"
    return None


def _suggested(field: RequestedField) -> tuple[str, ...]:
    """What can be chosen by its number; nothing where a number could be the value itself."""
    if not field.options:
        return ()
    offered = (field.default, *(option for option in field.options if option != field.default))
    return (*filter(None, offered), *(() if field.is_required else (SKIP,)), DECLINE)


def _hint(field: RequestedField) -> str:
    """What else can be typed where nothing is suggested."""
    if field.options:
        return ""
    usual = f" It is usually {field.default}." if field.default else ""
    others = f"{DECLINE!r}" if field.is_required else f"{SKIP!r} or {DECLINE!r}"
    return f"{usual} Type the value, or {others}."


def _field(name: str, described: Any, is_required: bool) -> RequestedField:
    schema = described if isinstance(described, Mapping) else {}
    kind = str(schema.get("type", "string"))
    items = schema.get("items")
    options = _options(items if kind == "array" and isinstance(items, Mapping) else schema)
    if kind == "boolean":
        options = ("yes", "no")
    default = schema.get("default")
    title = single_line(str(schema.get("title") or name), LONGEST_WORD)
    about = single_line(str(schema.get("description") or ""), LONGEST_MESSAGE)
    several = " Several are separated by commas." if kind == "array" else ""
    return RequestedField(
        name=name,
        type=kind,
        words=f"{title}{f': {about}' if about else ''}{several}",
        options=options,
        default="" if default is None or kind == "array" else _as_words(default),
        is_required=is_required,
    )


def _as_words(default: Any) -> str:
    return ("yes" if default else "no") if isinstance(default, bool) else single_line(str(default), LONGEST_WORD)


def _options(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The values to choose from; a schema may name them plainly or each with a title."""
    plain: Sequence[Any] = schema.get("enum") or ()
    titled: list[Any] = next((schema[key] for key in ("oneOf", "anyOf") if isinstance(schema.get(key), list)), [])
    named = [each.get("const") for each in titled if isinstance(each, Mapping)]
    values = [*(plain if isinstance(plain, list) else ()), *named]
    return tuple(value for value in values if isinstance(value, str))[:MOST_OPTIONS]


def _read(field: RequestedField, words: str) -> Value:
    match field.type:
        case "boolean":
            if words.lower() not in YES:
                raise WrongValue("Answer yes or no.")
            return YES[words.lower()]
        case "integer" | "number":
            return _number(words, int if field.type == "integer" else float)
        case "array":
            chosen = [word.strip() for word in words.split(",") if word.strip()]
            return [_chosen(field, word) for word in chosen]
        case _:
            return _chosen(field, words)


def _number(words: str, kind: Callable[[str], int | float]) -> int | float:
    try:
        value = kind(words)
    except (ValueError, OverflowError) as error:
        raise WrongValue(f"{single_line(words)!r} is not a number of this kind.") from error
    if not isfinite(value):
        raise WrongValue(f"{single_line(words)!r} is not a number of this kind.")
    return value


def _chosen(field: RequestedField, word: str) -> str:
    if field.options and word not in field.options:
        raise WrongValue(f"It must be one of: {', '.join(field.options)}.")
    return word

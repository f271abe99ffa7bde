"""JSON Schema as Markdown tables."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Shape = Mapping[str, Any]


def table(shape: Shape) -> Iterator[str]:
    """A row for each property of an object: its type, its default and description for."""
    properties: Mapping[str, Shape] = shape.get("properties", {})
    if not properties:
        return
    described = any("description" in each for each in properties.values())
    # What it is comes first: on a narrow page the last columns are out of sight.
    yield "| key |" + (" description |" if described else "") + " type | default |"
    yield "|---|" + ("---|" if described else "") + "---|---|"
    required = set(shape.get("required", ()))
    for name, each in properties.items():
        default = "required" if name in required else _default(each)
        what = f" {_cell(each.get('description', ''))} |" if described else ""
        yield f"| `{name}` |{what} {type_words(each)} | {default} |"


def shape_lines(shape: Shape) -> Iterator[str]:
    """What a section says of a shape: its description, then its values, its kinds or its properties."""
    if "description" in shape:
        yield f"{' '.join(shape['description'].split())}\n"
    if "enum" in shape:
        yield type_words(shape)
    elif "anyOf" in shape:
        yield f"One of {type_words(shape)}"
    yield from table(shape)


def type_words(shape: Shape) -> str:
    """The type of a value in a few words, with a link where it has a section of its own."""
    match shape:
        case {"$ref": str(target)}:
            return _link(target.rsplit("/", 1)[-1])
        case {"anyOf": list(choices)}:
            return " or ".join(dict.fromkeys(type_words(each) for each in choices if each.get("type") != "null"))
        case {"enum": list(values)}:
            return ", ".join(_code(value) for value in values if value is not None)
        case {"type": "array"}:
            return f"list of {type_words(shape['items'])}" if "items" in shape else "list"
        case {"type": "object", "additionalProperties": dict(values)} if values:
            return f"object of {type_words(values)}"
        case {"type": str(name)}:
            return {"string": "text", "boolean": "true or false", "integer": "whole number"}.get(name, name)
        case _:
            return "anything"


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _default(shape: Shape) -> str:
    default = shape.get("default")
    return "" if default in (None, [], {}, "") or isinstance(default, dict) else _code(default)


def _code(value: object) -> str:
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

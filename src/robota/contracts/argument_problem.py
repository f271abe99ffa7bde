"""Describes invalid arguments of a call to a model, in plainer words than the library that found them."""

import re
from typing import Any, Final

import msgspec

TYPES: Final = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
MISSING: Final = re.compile(r"Object missing required field `(.+)`")
EXPECTED: Final = re.compile(r"Expected `([^`]+)`(.*?)(?:, got `([^`]+)`)?", re.DOTALL)
CHOICE: Final = re.compile(r"Invalid enum value (.+)", re.DOTALL)
UNKNOWN: Final = re.compile(r"Object contains unknown field `(.+)`")
BOUND: Final = re.compile(r"( of length)? (>=|<=) (\S+)")
BOUNDS: Final = {">=": "at least", "<=": "at most"}
PARTS: Final = {"str": " characters", "array": " entries", "object": " entries"}


def problem_in_words(error: str, params: type[msgspec.Struct]) -> str:
    """The problem that msgspec reports; a message of another kind stays as it is."""
    text, _, place = error.partition(" - at `$")
    name = place.strip("`.")
    where = f"{name!r}" if name else "the input"
    if match := MISSING.fullmatch(text):
        return f"{match[1]!r} is missing" + (f" in {where}" if name else "")
    if match := CHOICE.fullmatch(text):
        return f"{where} cannot be {match[1]}{_choices(params, name)}"
    if match := EXPECTED.fullmatch(text):
        got = f", not {_type(match[3])}" if match[3] else ""
        return f"{where} must be {_type(match[1])}{_bound(match[1], match[2])}{got}"
    if match := UNKNOWN.fullmatch(text):
        return f"there is no parameter {match[1]!r}" + (f" in {where}" if name else "")
    return error


def _bound(kind: str, written: str) -> str:
    """The bound of a value, such as ` of length >= 1`."""
    match = BOUND.fullmatch(written)
    if match is None:
        return written
    of_length, sign, number = match.groups()
    bound = f"{BOUNDS[sign]} {number.removesuffix('.0')}"
    return f" with {bound}{PARTS.get(kind, '')}" if of_length else f" of {bound}"


def _choices(params: type[msgspec.Struct], name: str) -> str:
    """What a parameter can be instead; nothing is said of one inside another."""
    types = [field.type for field in msgspec.structs.fields(params) if field.encode_name == name]
    shapes = [shape for each in types for shape in _shapes(msgspec.json.schema(each))]
    values = [str(value) for shape in shapes for value in shape.get("enum", ()) if value is not None]
    return f". Choose one of: {', '.join(values)}" if values else ""


def _shapes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [schema, *schema.get("anyOf", ()), *schema.get("$defs", {}).values()]


def _type(written: str) -> str:
    kinds = [kind for kind in written.split(" | ") if kind != "null"] or ["null"]
    return " or ".join(TYPES.get(kind, kind) for kind in kinds)

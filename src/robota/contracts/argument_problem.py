"""What is wrong with the arguments of a call, in words for a model, instead of those of the library that found it."""

import re
from typing import Final

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


def problem_in_words(error: str) -> str:
    """The problem that msgspec reports; a message of another kind stays as it is."""
    text, _, place = error.partition(" - at `$")
    name = place.strip("`.")
    where = f"{name!r}" if name else "the input"
    if found := MISSING.fullmatch(text):
        return f"{found[1]!r} is missing" + (f" in {where}" if name else "")
    if found := CHOICE.fullmatch(text):
        return f"{where} cannot be {found[1]}"
    if found := EXPECTED.fullmatch(text):
        got = f", not {_type(found[3])}" if found[3] else ""
        return f"{where} must be {_type(found[1])}{found[2]}{got}"
    return error


def _type(written: str) -> str:
    kinds = [kind for kind in written.split(" | ") if kind != "null"] or ["null"]
    return " or ".join(TYPES.get(kind, kind) for kind in kinds)

"""Regular expressions of settings and files, matched in time that grows only with the length of the text.

A pattern comes from a file of a project, and the text from a model or a server, so neither may make matching take
forever. The engine is that of Rust, which comes with `pydantic_core`: no look-around and no back-references.
"""

from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, ValidationError


def problem_with_pattern(pattern: object) -> str | None:
    """Why a pattern is invalid, as the end of a sentence; None if it is valid."""
    if not isinstance(pattern, str):
        return "it is not text"
    try:
        _matcher(pattern)
    except SchemaError as error:
        return str(error).strip().rpartition("\n")[2].strip().removeprefix("error: ").rstrip(".")
    return None


def fits_pattern(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    try:
        _matcher(pattern).validate_python(text)
    except ValidationError:
        return False
    return True


@lru_cache(maxsize=64)
def _matcher(pattern: str) -> SchemaValidator:
    return SchemaValidator({"type": "str", "pattern": pattern, "regex_engine": "rust-regex", "strict": True})

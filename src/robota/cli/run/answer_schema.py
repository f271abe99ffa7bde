"""`--json-schema`: the answer is JSON of a given shape. The model is told so, and what it says is checked.

The check runs in a process of its own, which is this module: a pattern in a schema can take for ever. References are
followed within the schema only: others would be fetched from wherever they name, files of this machine included.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

import msgspec

from robota.cli.command_line import UsageError

FENCED: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
MAX_PROBLEM_LENGTH: Final = 1000
CHECK_S: Final = 10.0


class AnswerSchema:
    """A JSON Schema that answers must fit. Raises `UsageError` if it is none."""

    def __init__(self, schema: dict[str, Any]) -> None:
        # Without types of its own, and needed by few.
        jsonschema: Any = import_module("jsonschema")
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        try:
            kind.check_schema(schema)
        except jsonschema.SchemaError as error:
            raise UsageError(f"--json-schema: not a valid JSON Schema: {error.message}.") from error
        except RecursionError as error:
            raise UsageError("--json-schema: not a valid JSON Schema: it is nested too deeply.") from error
        self._schema = schema
        self._text = json.dumps(schema, ensure_ascii=False)
        _check_references(schema)

    @property
    def instruction(self) -> str:
        """What the model is told in its system prompt."""
        return (
            "Your final answer must be one JSON value that is valid against the JSON Schema below, and nothing else: "
            f"no words around it, no code fence.\n\n{self._text}"
        )

    def checked(self, answer: str) -> tuple[str, str | None]:
        """The answer as plain JSON, and what is wrong with it; None if nothing is."""
        from robota.workspace.process.python_child import ChildFailed, module_output

        fenced = FENCED.match(answer)
        text = fenced[1] if fenced else answer
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            return answer, f"It is not JSON: {error}."
        try:
            order = msgspec.json.encode((self._schema, value))
            problem = module_output("robota.cli.run.answer_schema", (), order, timeout_s=CHECK_S).decode()
        except (ChildFailed, ValueError, RecursionError) as error:
            return answer, f"It could not be checked: {error}."
        return (answer, problem) if problem else (json.dumps(value, ensure_ascii=False), None)


def _check_references(schema: dict[str, Any]) -> None:
    """`UsageError` if one leads out of the schema, or to nothing in it."""
    referencing: Any = import_module("referencing")
    registry = import_module("jsonschema_specifications").REGISTRY
    specified: Any = import_module("referencing.jsonschema")
    resource = referencing.Resource.from_contents(schema, default_specification=specified.DRAFT202012)
    own = resource.id() or ""
    resolver = registry.with_resource(own, resource).crawl().resolver(own)
    for reference, base in _references(schema, own):
        try:
            resolver.lookup(base + reference if reference.startswith("#") else reference)
        except (referencing.exceptions.Unresolvable, ValueError) as error:
            raise UsageError(
                f"--json-schema: the reference {reference!r} does not exist in the schema. References to other "
                "documents are not followed."
            ) from error


def _references(part: Any, base: str) -> Iterator[tuple[str, str]]:
    """Every reference, and the name of the part of the schema that it stands in."""
    if isinstance(part, dict):
        own = part.get("$id")
        base = own if isinstance(own, str) else base
        yield from ((part[name], base) for name in ("$ref", "$dynamicRef") if isinstance(part.get(name), str))
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _references(each, base)


def _problem(schema: dict[str, Any], value: Any) -> str:
    """What is wrong with a value; empty if nothing is."""
    jsonschema: Any = import_module("jsonschema")
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    validator = kind(schema, registry=import_module("jsonschema_specifications").REGISTRY)
    problem = min(validator.iter_errors(value), key=lambda each: list(map(str, each.path)), default=None)
    return "" if problem is None else f"At {problem.json_path}: {problem.message[:MAX_PROBLEM_LENGTH]}."


def main() -> None:
    """Print what is wrong with the value that stands, with its schema, on standard input."""
    from robota.workspace.process.python_child import limit_this_process

    limit_this_process()
    schema, value = json.loads(sys.stdin.buffer.read())
    sys.stdout.write(_problem(schema, value))


if __name__ == "__main__":
    main()

"""`--json-schema`: require an answer that matches a JSON Schema. It is part of the system prompt, and checked.

The check runs this module as a separate process, because a pattern in a schema can take forever. References are
followed only within the schema: others would be fetched from any address, including files of this machine.
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
    """A JSON Schema for answers. Raises `UsageError` if it is not valid."""

    def __init__(self, schema: dict[str, Any]) -> None:
        # Untyped, and rarely needed.
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
        """The text for the system prompt."""
        return (
            "Your final answer must be one JSON value that is valid against the JSON Schema below, and nothing else: "
            f"no words around it, no code fence.\n\n{self._text}"
        )

    def checked(self, answer: str) -> tuple[str, str | None]:
        """The answer as plain JSON, and the problem with it; None if there is none."""
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
    """Raise `UsageError` if a reference points out of the schema, or to nothing in it."""
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
    """Every reference, and the base URI of the part of the schema that contains it."""
    if isinstance(part, dict):
        own = part.get("$id")
        base = own if isinstance(own, str) else base
        yield from ((part[name], base) for name in ("$ref", "$dynamicRef") if isinstance(part.get(name), str))
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _references(inner, base)


def _problem(schema: dict[str, Any], value: Any) -> str:
    """The problem with a value; empty if there is none."""
    jsonschema: Any = import_module("jsonschema")
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    validator = kind(schema, registry=import_module("jsonschema_specifications").REGISTRY)
    problem = min(validator.iter_errors(value), key=lambda error: list(map(str, error.path)), default=None)
    return "" if problem is None else f"At {problem.json_path}: {problem.message[:MAX_PROBLEM_LENGTH]}."


def main() -> None:
    """Read a schema and a value from standard input and print the problem."""
    from robota.workspace.process.python_child import limit_this_process

    limit_this_process()
    schema, value = json.loads(sys.stdin.buffer.read())
    sys.stdout.write(_problem(schema, value))


if __name__ == "__main__":
    main()

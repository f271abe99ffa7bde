"""`--json-schema`: the answer is JSON of a given shape. The model is told so, and what it says is checked."""

import json
import re
from importlib import import_module
from typing import Any, Final

from robota.cli.arguments import UsageError

FENCED: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
LONGEST_PROBLEM: Final = 1000


class AnswerSchema:
    """A JSON Schema that answers must fit. Raises `UsageError` if it is none."""

    def __init__(self, schema: dict[str, Any]) -> None:
        # Without types of its own, and needed by few.
        jsonschema: Any = import_module("jsonschema")
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        try:
            kind.check_schema(schema)
        except jsonschema.SchemaError as error:
            raise UsageError(f"--json-schema: this is no JSON Schema: {error.message}.") from error
        self._validator = kind(schema)
        self._text = json.dumps(schema, ensure_ascii=False)

    @property
    def instruction(self) -> str:
        """What the model is told in its system prompt."""
        return (
            "Your final answer must be one JSON value that is valid against the JSON Schema below, and nothing else: "
            f"no words around it, no code fence.\n\n{self._text}"
        )

    def checked(self, answer: str) -> tuple[str, str | None]:
        """The answer as plain JSON, and what is wrong with it; None if nothing is."""
        fenced = FENCED.match(answer)
        text = fenced[1] if fenced else answer
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            return answer, f"It is no JSON: {error}."
        problem = next(
            iter(sorted(self._validator.iter_errors(value), key=lambda each: list(map(str, each.path)))), None
        )
        if problem is None:
            return json.dumps(value, ensure_ascii=False), None
        return answer, f"At {problem.json_path}: {problem.message[:LONGEST_PROBLEM]}."

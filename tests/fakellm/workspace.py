"""The small files that tool calls look at, and arguments that point at them."""

import json
import re
from pathlib import Path
from typing import Any

from tests.fakellm.shapes import Json, plain_name


class Workspace:
    """Every turn names another file, because clients stop a model that repeats itself."""

    def __init__(self, path: str, lines: int = 20) -> None:
        self.directory = Path(path).resolve()
        self.lines = lines

    def make(self, count: int) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            text = "".join(f"file {number} line {line}: some text\n" for line in range(self.lines))
            Path(self.path(number)).write_text(text)

    def path(self, number: int) -> str:
        return str(self.directory / f"f{number:04d}.txt")

    def fill(self, schema: Json, name: str, number: int, root: Json | None = None) -> Any:
        """A value that satisfies a JSON schema; paths and commands point at file `number`."""
        root = root or schema
        schema = _resolved(schema, root)
        if "const" in schema or schema.get("enum"):
            return schema["const"] if "const" in schema else schema["enum"][0]
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, number, root)
        if kind == "array":
            if plain_name(name) in ("command", "cmd"):
                return ["bash", "-c", f"cat {self.path(number)}"]
            return [self.fill(schema.get("items") or {}, name, number, root)]
        if kind in ("integer", "number"):
            return _number(schema, plain_name(name))
        if kind == "boolean":
            return bool(schema.get("default"))
        return self._string(schema, plain_name(name), number)

    def _object(self, schema: Json, number: int, root: Json) -> Json:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        # With nothing required, give the first path or command: some clients check by hand.
        likely = [key for key in properties if re.search("path|file|command", key)][:1]
        wanted = [key for key in properties if key in required] or likely
        return {key: self.fill(properties[key], key, number, root) for key in wanted}

    def _string(self, schema: Json, name: str, number: int) -> Any:
        if name.startswith(("command", "cmd", "script")):
            return f"cat {self.path(number)}"
        if name in ("dir", "directory", "dirpath", "cwd", "workdir"):
            return str(self.directory)
        if re.search("path|file|target", name):
            return self.path(number)
        return schema.get("default") or "Look at the file."


def _resolved(schema: Json, root: Json) -> Json:
    """Without references, and with the first real choice of a union."""
    while True:
        union = next((schema[key] for key in ("anyOf", "oneOf", "allOf") if schema.get(key)), None)
        if "$ref" in schema:
            node: Any = root
            for part in schema["$ref"].lstrip("#/").split("/"):
                node = node.get(part, {})
            schema = node
        elif union:
            schema = next((choice for choice in union if choice.get("type") != "null"), union[0])
        else:
            return schema


def _kind(schema: Json) -> str:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next((choice for choice in kind if choice != "null"), "string")
    return str(kind).lower()


def _number(schema: Json, name: str) -> Any:
    default = schema.get("default")
    if isinstance(default, int | float):
        return default
    if "confidence" in name or "score" in name:
        # A side check "is the model looping?" must be answered with no.
        return schema.get("minimum", 0)
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    if "timeout" in name:
        return max(least, 10_000 if "ms" in name or "milli" in json.dumps(schema) else 30)
    return max(least, 200) if "limit" in name or "lines" in name else least

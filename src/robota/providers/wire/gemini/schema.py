"""Reduce JSON Schema to what Gemini accepts for the parameters of a function."""

from collections.abc import Mapping
from typing import Any, Final

KEPT: Final = frozenset(
    {
        "description",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "nullable",
        "pattern",
        "required",
        "title",
        "type",
    }
)
STRING_FORMATS: Final = ("enum", "date-time")

Schema = Mapping[str, Any]


def gemini_schema(schema: Schema) -> dict[str, Any]:
    """References are written out, `null` becomes `nullable`, and keys that the server refuses are left out."""
    return _reduced(schema, schema, frozenset())


def _reduced(schema: Any, root: Schema, within: frozenset[str]) -> dict[str, Any]:
    """`within` holds the references that led here: a schema that holds itself has no end when written out."""
    resolved, references = _resolved(_object(schema), root)
    if references & within:
        return {"type": "object"}
    plain, within = _without_const(resolved), within | references
    kept = {key: value for key, value in plain.items() if key in KEPT}
    if plain.get("format") in STRING_FORMATS:
        kept["format"] = plain["format"]
    if _are_words(plain.get("enum")):
        kept["enum"] = plain["enum"]
    properties = {name: _reduced(value, root, within) for name, value in _object(plain.get("properties")).items()}
    if properties:
        kept["properties"] = properties
    names = (name for name in _list(kept.pop("required", None)) if isinstance(name, str))
    required = [name for name in names if name in properties]
    if required:
        kept["required"] = required
    if kept.get("type") == "array":
        kept["items"] = _reduced(plain.get("items"), root, within) or {"type": "string"}
    choices = [_reduced(choice, root, within) for choice in _list(plain.get("anyOf"))]
    return {**kept, "anyOf": choices} if choices else kept


def _resolved(schema: Schema, root: Schema) -> tuple[dict[str, Any], frozenset[str]]:
    """The schema without `$ref`, `allOf`, `oneOf` and `null`, and the references followed. Sibling keys win."""
    resolved, references = _without_null(schema), set[str]()
    while "$ref" in resolved or "allOf" in resolved:
        parts = _list(resolved.pop("allOf", None))
        reference = resolved.pop("$ref", None)
        if isinstance(reference, str) and reference not in references:
            references.add(reference)
            parts.append(_pointed_at(reference, root))
        for part in parts:
            resolved = _merged(resolved, _object(part))
        resolved = _without_null(resolved)
    return resolved, frozenset(references)


def _merged(first: Schema, second: Schema) -> dict[str, Any]:
    """The two schemas merged; the first wins on conflicts."""
    joined = {**second, **first}
    if "properties" in joined:
        joined["properties"] = {**_object(second.get("properties")), **_object(first.get("properties"))}
    if "required" in joined:
        joined["required"] = [*_list(first.get("required")), *_list(second.get("required"))]
    return joined


def _pointed_at(reference: str, root: Schema) -> Any:
    node: Any = root
    for key in filter(None, reference.removeprefix("#").split("/")):
        node = _object(node).get(key.replace("~1", "/").replace("~0", "~"))
    return node


def _without_const(schema: dict[str, Any]) -> dict[str, Any]:
    if "const" not in schema:
        return schema
    return {"type": _type_of(schema["const"]), **schema, "enum": [schema["const"]]}


def _without_null(schema: Schema) -> dict[str, Any]:
    """`null` among types or choices becomes `nullable`; a single remaining choice is inlined."""
    plain = dict(schema)
    choices = _list(plain.pop("oneOf", None)) or _list(plain.pop("anyOf", None))
    if isinstance(plain.get("type"), list):
        choices = [{"type": kind} for kind in plain.pop("type")]
    real = [choice for choice in choices if _object(choice).get("type") != "null"]
    if len(real) < len(choices):
        plain["nullable"] = True
    if len(real) == 1:
        plain["allOf"] = [*_list(plain.get("allOf")), *real]
    elif real:
        plain["anyOf"] = real
    return plain


def _are_words(values: Any) -> bool:
    """The server accepts enums of strings only."""
    return bool(_list(values)) and all(isinstance(value, str) for value in values)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string"


def _object(value: Any) -> Schema:
    """Third-party servers supply schemas too, and these may contain invalid values."""
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []

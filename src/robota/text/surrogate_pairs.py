"""Lone UTF-16 surrogates: they have no UTF-8 form, so JSON cannot carry them."""

from typing import Any


def with_whole_characters(node: Any) -> Any:
    """The JSON data with every lone surrogate replaced by U+FFFD."""
    if isinstance(node, str):
        return node.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(node, list | tuple):
        return [with_whole_characters(item) for item in node]
    if isinstance(node, dict):
        return {with_whole_characters(key): with_whole_characters(value) for key, value in node.items()}
    return node

"""How much text an object keeps in memory."""

import gc
import types
from typing import Final

SHARED: Final = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def characters_held(root: object) -> int:
    """The length of all strings and bytes that can be reached from an object, each counted once."""
    found: set[int] = set()
    waiting, characters = [root], 0
    while waiting:
        value = waiting.pop()
        if id(value) in found or isinstance(value, SHARED):
            continue
        found.add(id(value))
        if isinstance(value, str | bytes | bytearray):
            characters += len(value)
        else:
            waiting += gc.get_referents(value)
    return characters

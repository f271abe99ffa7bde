"""The page with every name of the public interface, made from their source."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any, get_args

from robota import sdk

HEAD = """\
# Python SDK reference

Generated from the program by `make reference`. This is all of `robota.sdk`, so a change of this page is a change of the
public interface. [The guide](../sdk.md) explains how to use it, [the protocol schema](protocol-schema.md) has the types
that are only mentioned.
"""
NOT_SHOWN = frozenset({"Value", "OpenValue"})


def sdk_page() -> str:
    """Every public name with its parameters, fields or members, and what it is."""
    return "\n".join((HEAD, *(line for name in sdk.__all__ for line in _entry(name))))


def _entry(name: str) -> Iterator[str]:
    value = getattr(sdk, name)
    yield f"## {name}\n"
    if isinstance(value, str):
        yield "The version of Robota, a string.\n"
    elif alternatives := get_args(value):
        yield f"One of {', '.join(f'`{each.__name__}`' for each in alternatives)}.\n"
    else:
        yield f"```text\n{_declaration(value)}\n```\n"
        yield f"{_first_paragraph(value)}\n"


def _declaration(value: Any) -> str:
    if not inspect.isclass(value):
        return _header(_definition(value))
    shown = [each for each in reversed(value.__mro__) if each.__module__.startswith("robota.")]
    bodies = [line for each in shown if each.__name__ not in NOT_SHOWN for line in _members(_definition(each))]
    bases = ", ".join(each.__name__ for each in value.__bases__ if each.__module__ == "builtins" and each is not object)
    return "\n".join((f"class {value.__name__}{f'({bases})' if bases else ''}:", *(bodies or ["    ..."])))


def _definition(value: Any) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(value)))).body[0]


def _members(definition: ast.stmt) -> Iterator[str]:
    """The fields, members and public methods of a class."""
    assert isinstance(definition, ast.ClassDef)
    for each in definition.body:
        if isinstance(each, ast.AnnAssign | ast.Assign):
            yield f"    {ast.unparse(each)}"
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not each.name.startswith("_"):
            yield textwrap.indent(_header(each), "    ")


def _header(definition: ast.stmt) -> str:
    """The line that declares a function, without its body."""
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
    begins = "async def" if isinstance(definition, ast.AsyncFunctionDef) else "def"
    decorators = "".join(f"@{ast.unparse(each)}\n" for each in definition.decorator_list)
    returned = f" -> {ast.unparse(definition.returns)}" if definition.returns else ""
    return f"{decorators}{begins} {definition.name}({ast.unparse(definition.args)}){returned}: ..."


def _first_paragraph(value: object) -> str:
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())

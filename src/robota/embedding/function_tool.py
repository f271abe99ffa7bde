"""`tool`: a Python function as a tool of the model."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Final, get_type_hints

import msgspec

from robota.contracts.tool import (
    AnyTool,
    Effect,
    Prepared,
    Preview,
    Tool,
    ToolContext,
    ToolError,
    ToolGroup,
    ToolResult,
    Touches,
)

# Nothing is known about a function, so it is assumed to change things and use the network: the user is asked.
ANYTHING: Final = frozenset({Effect.WRITE, Effect.NETWORK})
Function = Callable[..., Any]


def tool(*, name: str | None = None, effects: frozenset[Effect] = ANYTHING) -> Callable[[Function], AnyTool]:
    """Make a tool of a function with annotated parameters; its docstring is what the model reads about it.

    A function that is not async runs in a thread. Its result, a string or anything that can be encoded as JSON, goes to
    the model, as does the text of an exception. Calls go through policy, hooks and log like those of any other tool:
    with `effects=frozenset({Effect.READ})` they run without asking.
    """

    def made(function: Function) -> AnyTool:
        parameters = _parameters(function)
        own_name, description = name or function.__name__, inspect.getdoc(function) or ""
        if not description:
            raise ValueError(f"{own_name} has no docstring; the model would not know what it does.")

        async def prepare(params: msgspec.Struct, context: ToolContext) -> Prepared:
            arguments = {field: getattr(params, field) for field in params.__struct_fields__}
            shown = msgspec.json.encode({"tool": own_name, **msgspec.to_builtins(arguments)}).decode()
            return Prepared(preview=Preview(ask="tool", text=shown), run=lambda: _run(function, arguments))

        return Tool(
            name=own_name,
            label=own_name,
            group=ToolGroup.MCP,
            params=parameters,
            description=lambda: description,
            effects=effects,
            touches=lambda params: Touches(),
            prepare=prepare,
        )

    return made


def _parameters(function: Function) -> type[msgspec.Struct]:
    """A struct with the parameters of the function."""
    types = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for each in inspect.signature(function).parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise ValueError(f"{function.__name__}: the model gives arguments by name, so {each} cannot be one.")
        if each.name not in types:
            raise ValueError(f"{function.__name__}: {each.name} has no annotation; the model would not know its type.")
        kind = types[each.name]
        fields.append((each.name, kind) if each.default is each.empty else (each.name, kind, each.default))
    return msgspec.defstruct(function.__name__, fields, frozen=True, kw_only=True)


async def _run(function: Function, arguments: dict[str, Any]) -> ToolResult:
    try:
        if inspect.iscoroutinefunction(function):
            returned = await function(**arguments)
        else:
            returned = await asyncio.to_thread(function, **arguments)
        return ToolResult(content=returned if isinstance(returned, str) else msgspec.json.encode(returned).decode())
    except ToolError:
        raise
    except Exception as error:
        raise ToolError(f"{type(error).__name__}: {error}") from error

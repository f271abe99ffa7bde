"""Editing tools in workspaces with intents: a call declares the class of its change."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NoReturn

import msgspec

from robota.contracts.tool import AnyTool, Prepared, ToolContext, ToolError, ToolGroup, ToolResult
from robota.intents.mutation_class import MutationClass
from robota.intents.refusal import RefusalKind, refusal
from robota.intents.selection import IntentSelection
from robota.workspace.problems import FileChanged, Missing, NotRead

MUTATION_CLASS: Final = "mutation_class"
INTENT_ID: Final = "intent_id"
DESCRIPTION: Final = (
    "AST_REFACTOR if the code does the same as before (formatting, comments, consistent renames), INTENT_EVOLUTION "
    "if it does something else. It is checked against the syntax tree."
)


def with_declared_class(tool: AnyTool, schema: Mapping[str, Any], selection: IntentSelection) -> AnyTool:
    """The tool with an argument for the class of the change; a tool that does not edit files is returned unchanged."""
    if tool.group is not ToolGroup.EDIT:
        return tool
    property = {"type": "string", "enum": [*MutationClass], "description": DESCRIPTION}
    wider = {**schema, "properties": {**schema.get("properties", {}), MUTATION_CLASS: property}}

    def read(arguments: dict[str, Any]) -> Any:
        rest = {name: value for name, value in arguments.items() if name not in (MUTATION_CLASS, INTENT_ID)}
        return msgspec.convert(rest, tool.params, strict=False) if tool.read is None else tool.read(rest)

    async def prepare(params: Any, context: ToolContext) -> Prepared:
        try:
            return _guarded(await tool.prepare(params, context), selection)
        except (FileChanged, NotRead) as problem:
            _refuse(problem, selection)

    return msgspec.structs.replace(tool, schema=wider, read=read, prepare=prepare)


class BadDeclaration(Exception):
    """The declaration of a call is invalid. The message is for the model."""


def declared_class(call_input: Mapping[str, Any], active_id: str) -> MutationClass | None:
    """The declared class of a change. Raises `BadDeclaration`, also if the call names an intent that is not active."""
    named = call_input.get(INTENT_ID)
    if named is not None and named != active_id:
        what = f"The call is for {str(named)[:80]}, but {active_id} is the active intent."
        raise BadDeclaration(refusal(RefusalKind.INTENT_MISMATCH, what, active_id))
    written = call_input.get(MUTATION_CLASS)
    if written is None:
        return None
    try:
        return MutationClass(written)
    except ValueError:
        what = f"{MUTATION_CLASS} is one of {', '.join(MutationClass)}, or left out."
        raise BadDeclaration(refusal(RefusalKind.INVALID_METADATA, what, active_id)) from None


def _guarded(prepared: Prepared, selection: IntentSelection) -> Prepared:
    """Wrap the call: if the file was changed meanwhile, it fails with a refusal of the intent layer."""

    async def run() -> ToolResult:
        try:
            return await prepared.run()
        except (FileChanged, NotRead, Missing) as problem:
            _refuse(problem, selection)

    choose = prepared.with_hunks
    return msgspec.structs.replace(
        prepared, run=run, with_hunks=None if choose is None else _choosing(choose, selection)
    )


def _choosing(
    choose: Callable[[Collection[int]], Prepared], selection: IntentSelection
) -> Callable[[Collection[int]], Prepared]:
    return lambda hunks: _guarded(choose(hunks), selection)


def _refuse(problem: Exception, selection: IntentSelection) -> NoReturn:
    message = refusal(RefusalKind.STALE_FILE, str(problem), selection.selected, resolution="RE_READ_REQUIRED")
    raise ToolError(message, shown=str(problem)) from problem

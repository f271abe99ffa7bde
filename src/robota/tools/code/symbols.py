"""The outline of a file, a map of a directory, or the definitions of a name."""

from typing import Annotated, Final

import msgspec

from robota.contracts.rest_of_result import named_call
from robota.contracts.tool import (
    SHOWN_CHARACTERS,
    Effect,
    HookNames,
    Prepared,
    Tool,
    ToolContext,
    ToolError,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.protocol.views import TextView
from robota.text.counted import counted
from robota.text.visible import printable_name
from robota.tools.presentation import SayTool, description_beside, tool_ask
from robota.workspace.problems import Missing, NotADirectory

MAP_CHARACTERS: Final = 6_000
MAX_SHOWN: Final = 300
TIMEOUT_S: Final = 60.0


class SymbolsParams(msgspec.Struct, frozen=True, kw_only=True):
    path: str = "."
    query: Annotated[str | None, msgspec.Meta(description="Find definitions: `load`, `Store.load`.")] = None


async def prepare(params: SymbolsParams, context: ToolContext) -> Prepared:
    """Describe what will be looked up; `run` reads."""
    action = SayTool(tool="listCodeDefinitionNames", path=printable_name(params.path), content=params.query)
    return Prepared(preview=tool_ask(action), run=lambda: _run(params, context))


def touches(params: SymbolsParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(paths=(params.path,))


async def _run(params: SymbolsParams, context: ToolContext) -> ToolResult:
    path = _relative(params, context)
    if params.query:
        return await _found(params, params.query, path, context)
    try:
        is_directory = path in {"", "."} or context.files.directory(params.path).is_dir()
    except NotADirectory:
        is_directory = False
    return await (_map(path, context) if is_directory else _outline(params, path, context))


def _relative(params: SymbolsParams, context: ToolContext) -> str:
    """The path relative to the workspace; a `ToolError` if it is outside, where code is not indexed."""
    if context.files.holding(params.path) is not context.files:
        call = named_call("search_files", path=params.path, regex=params.query or "class |def |function ")
        raise ToolError(f"Code outside the workspace is not indexed. Nothing was looked up. Search it: {call}")
    relative = context.files.relative(params.path)
    return "" if relative == "." else relative


async def _map(path: str, context: ToolContext) -> ToolResult:
    drawn = await context.code().map(MAP_CHARACTERS, below=path)
    where = f" in {printable_name(path)}" if path else ""
    if not drawn.files:
        text = f"No definitions{where} in a language with a grammar. Use list_files and search_files."
        return ToolResult(content=text, view=TextView(text="No definitions."))
    notes = []
    if drawn.shown < drawn.files:
        notes.append(
            f"[The {drawn.shown} most used of {counted(drawn.files, 'file')}{where} that define something. "
            "For others, give a path: a directory for its map, a file for its outline.]"
        )
    if not drawn.is_complete:
        notes.append("[Not complete: files are still being read. Call it again later for all of them.]")
    if drawn.left_out:
        notes.append(f"[{counted(drawn.left_out, 'file')} beyond the limit of the index are left out.]")
    view = TextView(text=f"{drawn.shown} of {counted(drawn.files, 'file')}.")
    return ToolResult(content="\n".join((drawn.text, *notes)), view=view)


async def _outline(params: SymbolsParams, path: str, context: ToolContext) -> ToolResult:
    from robota.workspace.code.repository_map import outline

    try:
        symbols = await context.code().outline(params.path)
    except Missing as error:
        from robota.tools.files.near_names import with_near_names

        raise with_near_names(error, params.path, context.files) from error
    name = printable_name(path)
    if symbols is None:
        call = named_call("read_file", path=params.path)
        raise ToolError(f"There is no grammar for {name!r}, or it is too large. Nothing was listed. Read it: {call}")
    if not symbols:
        return ToolResult(content=f"{name} defines nothing that others can use.", view=TextView(text="No definitions."))
    lines = outline(symbols).split("\n")
    shown = _fitting(lines)
    notes = []
    if len(shown) < len(lines):
        call = named_call("read_file", path=params.path, offset=symbols[len(shown)].line)
        notes.append(f"[Showing {len(shown)} of {len(lines)}. To see the code from the next on: {call}]")
    heading = f"{name} ({counted(len(symbols), 'definition')})"
    return ToolResult(content="\n".join((f"{heading}:", *shown, *notes)), view=TextView(text=f"{heading}."))


async def _found(params: SymbolsParams, query: str, path: str, context: ToolContext) -> ToolResult:
    found = await context.code().definitions(query, path or None)
    if not found.found:
        call = named_call("search_files", regex=query.rpartition(".")[2])
        more = "" if found.is_complete else " among the files read so far"
        text = f"No definition of {query!r}{more}. It may come from a library. Search for it: {call}"
        return ToolResult(content=text, view=TextView(text="Not found."))
    lines = [
        f"{printable_name(each.path)}:{each.symbol.line}-{each.symbol.end_line} | {each.symbol.kind} "
        f"{printable_name(each.symbol.name_path)} | {printable_name(each.symbol.signature)}"
        for each in found.found
    ]
    heading = counted(len(lines), "definition")
    heading = f"{heading} of {query}" if found.is_exact else f"No definition of {query!r}; {heading} of similar names"
    if not found.is_complete:
        heading += " in the files read so far"
    shown = _fitting(lines)
    notes = []
    if len(shown) < len(lines):
        call = named_call("search_files", regex=query.rpartition(".")[2], path=params.path)
        notes.append(f"[Showing {len(shown)} of {len(lines)}. Give a path, or search: {call}]")
    return ToolResult(content="\n".join((f"{heading}:", *shown, *notes)), view=TextView(text=f"{heading}."))


def _fitting(lines: list[str]) -> list[str]:
    """As many lines as a result may have, and at least one."""
    shown: list[str] = []
    room = SHOWN_CHARACTERS
    for line in lines[:MAX_SHOWN]:
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    return shown


TOOL = Tool(
    name="symbols",
    label="Symbols",
    group=ToolGroup.READ,
    params=SymbolsParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.READ}),
    touches=touches,
    prepare=prepare,
    aliases=("list_code_definition_names",),
    hook_names=HookNames(path="path"),
    title=titled("Symbols", "path", "query"),
    timeout_s=TIMEOUT_S,
)

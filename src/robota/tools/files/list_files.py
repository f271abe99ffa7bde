"""List the files and directories in a directory."""

import asyncio
import re
from typing import Annotated, Final

import msgspec

from robota.contracts.tool import Effect, HookNames, Prepared, Tool, ToolContext, ToolGroup, ToolResult, Touches, titled
from robota.protocol.views import TextView
from robota.text.counted import counted
from robota.text.visible import printable_name
from robota.tools.presentation import SayTool, description_beside, tool_ask

MAX_ENTRIES: Final = 200
DIGITS: Final = re.compile(r"(\d+)")


class ListFilesParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The directory. Default: the workspace.")] = "."
    recursive: Annotated[bool, msgspec.Meta(description="List the directories below, too.")] = False


async def prepare(params: ListFilesParams, context: ToolContext) -> Prepared:
    """Describe what will be listed; `run` reads the directory."""
    action = "listFilesRecursive" if params.recursive else "listFilesTopLevel"
    preview = tool_ask(SayTool(tool=action, path=printable_name(params.path)))
    return Prepared(preview=preview, run=lambda: _list(params, context))


def touches(params: ListFilesParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(paths=(params.path,))


async def _list(params: ListFilesParams, context: ToolContext) -> ToolResult:
    listing = await asyncio.to_thread(context.files.list, params.path, params.recursive, MAX_ENTRIES)
    if not listing.entries:
        return ToolResult(content="No files found.", view=TextView(text="Empty."))
    names = "\n".join(printable_name(entry) for entry in sorted(listing.entries, key=_tree_order))
    if listing.truncated:
        names += f"\n\n(File list truncated at {MAX_ENTRIES} entries. List a directory further down to see more.)"
    many = f"{len(listing.entries):,}+ entries." if listing.truncated else None
    count = many or f"{counted(len(listing.entries), 'entry', 'entries')}."
    return ToolResult(content=names, view=TextView(text=count))


def _tree_order(entry: str) -> list[tuple[bool, list[tuple[int, str]]]]:
    """Sort a directory before its content, directories before files, and `2.txt` before `10.txt`."""
    *above, name = entry.removesuffix("/").split("/")
    return [*((False, _numerically(part)) for part in above), (not entry.endswith("/"), _numerically(name))]


def _numerically(name: str) -> list[tuple[int, str]]:
    """Alternating text and numbers, with -1 in place of a number for text."""
    return [(int(part) if place % 2 and len(part) < 20 else -1, part) for place, part in enumerate(DIGITS.split(name))]


TOOL = Tool(
    name="list_files",
    label="List",
    group=ToolGroup.READ,
    params=ListFilesParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.READ}),
    touches=touches,
    prepare=prepare,
    hook_names=HookNames(path="path"),
    title=titled("List", "path"),
)

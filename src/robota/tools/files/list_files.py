"""List the files and directories in a directory."""

import asyncio
import re
from typing import Annotated, Final

import msgspec

from robota.contracts.tool import Effect, HookNames, Prepared, Tool, ToolContext, ToolGroup, ToolResult, Touches, titled
from robota.contracts.workspace import Files
from robota.protocol.views import TextView
from robota.text.counted import counted
from robota.text.visible import printable_name
from robota.tools.presentation import SayTool, description_beside, tool_ask
from robota.workspace.problems import Missing, NotADirectory

MAX_ENTRIES: Final = 200
DIGITS: Final = re.compile(r"(\d+)")


class ListFilesParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The directory. Default: the workspace.")] = "."
    recursive: bool = False
    offset: Annotated[Annotated[int, msgspec.Meta(ge=0)], msgspec.Meta(description="Entries to skip.")] = 0


async def prepare(params: ListFilesParams, context: ToolContext) -> Prepared:
    """Describe what will be listed; `run` reads the directory."""
    action = "listFilesRecursive" if params.recursive else "listFilesTopLevel"
    preview = tool_ask(SayTool(tool=action, path=printable_name(params.path)))
    return Prepared(preview=preview, run=lambda: _list(params, context))


def touches(params: ListFilesParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(paths=(params.path,))


async def _list(params: ListFilesParams, context: ToolContext) -> ToolResult:
    files = context.files.holding(params.path)
    try:
        page = await asyncio.to_thread(_page, params, files)
    except (Missing, NotADirectory) as error:
        from robota.tools.files.near_names import with_near_names

        raise with_near_names(error, params.path, files) from error
    if not page.entries:
        return ToolResult(content=_nothing(params, page), view=TextView(text="Empty."))
    lines = [printable_name(entry) for entry in sorted(page.entries, key=_tree_order)]
    count = counted(len(lines), "entry", "entries")
    if params.offset or page.has_more:
        more = "there are more" if page.has_more else "that is all"
        lines.append(f"\n[Showing entries {params.offset + 1:,}-{params.offset + len(page.entries):,}; {more}.]")
    if page.has_more:
        from robota.contracts.rest_of_result import next_page

        lines.append(f"[For the next entries: {next_page('list_files', params, params.offset + len(page.entries))}]")
    return ToolResult(content="\n".join(lines), view=TextView(text=f"{count}{' of more' if page.has_more else ''}."))


class EntryPage(msgspec.Struct, frozen=True, kw_only=True):
    """The entries after those that were skipped; `earlier` is how many of these there are."""

    entries: tuple[str, ...]
    earlier: int
    has_more: bool


def _page(params: ListFilesParams, files: Files) -> EntryPage:
    """A longer listing begins with the entries of a shorter one, so a page is what the longer one has more."""
    listing = files.list(params.path, params.recursive, params.offset + MAX_ENTRIES)
    earlier = files.list(params.path, params.recursive, params.offset).entries if params.offset else ()
    entries = tuple(entry for entry in listing.entries if entry not in set(earlier)) if earlier else listing.entries
    return EntryPage(entries=entries, earlier=len(earlier), has_more=listing.truncated and bool(entries))


def _nothing(params: ListFilesParams, page: EntryPage) -> str:
    if page.earlier:
        return f"There are only {counted(page.earlier, 'entry', 'entries')}; offset {params.offset} skips all of them."
    return f"The directory {printable_name(params.path)!r} is empty, or everything in it is hidden from you."


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

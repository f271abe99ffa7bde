"""A context for tools under test: real files, real processes, and what was shown and kept."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from robota.contracts.tool import AnyTool, Preview, ToolResult
from robota.tools.registry import builtin_tools, by_name
from robota.workspace.files import Files
from robota.workspace.processes import Processes

T = TypeVar("T")


class Workbench:
    """Satisfies `ToolContext` and calls tools by name, as a model would: with JSON."""

    call_id = "call_1"

    def __init__(self, root: Path) -> None:
        self.cwd = root
        self.files = Files(root)
        self.processes = Processes()
        self.shown: list[str] = []
        self.kept: dict[str, bytes] = {}

    def show(self, output: str) -> None:
        self.shown.append(output)

    def keep(self, data: bytes) -> str:
        name = f"artifact-{len(self.kept)}"
        self.kept[name] = data
        return name

    def call(self, name: str, **arguments: Any) -> ToolResult:
        tool, params = self._prepared(name, arguments)
        return asyncio.run(_awaited(tool.run(params, self)))

    def preview(self, name: str, **arguments: Any) -> Preview:
        tool, params = self._prepared(name, arguments)
        return asyncio.run(_awaited(tool.preview(params, self)))

    def _prepared(self, name: str, arguments: dict[str, Any]) -> tuple[AnyTool, Any]:
        tool = by_name(builtin_tools())[name]
        return tool, msgspec.convert(arguments, tool.params, strict=False)


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable

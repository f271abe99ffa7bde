"""A context for tools under test: real files, real processes, and what was shown and kept."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from robota.contracts.tool import AnyTool, Preview, ToolError, ToolResult
from robota.log.artifacts import artifact_path, keep_artifact, keep_artifact_file
from robota.log.errors import ArtifactMissing
from robota.tools.registry import builtin_tools, by_name
from robota.workspace.files.files import Files
from robota.workspace.process.processes import Processes

T = TypeVar("T")


class Workbench:
    """Satisfies `ToolContext` and calls tools by name, as a model would: with JSON."""

    call_id = "call_1"
    sees_images = True

    def __init__(self, root: Path) -> None:
        self.cwd = root
        self.files = Files(root)
        self.processes = Processes()
        self.shown: list[str] = []
        self.artifacts = root.parent / f"{root.name}-artifacts"

    def show(self, output: str) -> None:
        self.shown.append(output)

    def keep(self, data: bytes) -> str:
        return keep_artifact(self.artifacts, data)[0]

    async def keep_file(self, path: Path) -> str:
        return keep_artifact_file(self.artifacts, path)[0]

    def kept(self, name: str) -> Path:
        try:
            return artifact_path(self.artifacts, name)
        except ArtifactMissing as error:
            raise ToolError(str(error)) from error

    @property
    def all_kept(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.artifacts.glob("*"))]

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

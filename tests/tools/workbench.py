"""A context for tools under test: real files, real processes, and what was shown and kept."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robota.contracts.tool import REPORTED_TO_MODEL, Prepared, Preview, ToolError, ToolResult
from robota.log.artifacts import find_artifact, keep_artifact, keep_artifact_file, short_name
from robota.log.errors import ArtifactMissing
from robota.protocol.asks.ask import QuestionAsk
from robota.tools.registry import builtin_tools, by_name
from robota.workspace.code.reading_code import ReadingCode
from robota.workspace.code.session_code import SessionCode
from robota.workspace.files.files import LocalFiles
from robota.workspace.process.processes import LocalProcesses


class CodeOfBench:
    """The service that answers questions about code, as if something had been asked before."""

    def __init__(self, asked: SessionCode) -> None:
        self.asked = asked

    def __call__(self) -> SessionCode:
        return self.asked

    async def close(self) -> None:
        await self.asked.close()


class Workbench:
    """Satisfies `ToolContext` and calls tools by name, as a model would: with JSON."""

    call_id = "call_1"
    confined = None
    pinned = ()
    sees_images = True
    is_attended = True

    def __init__(self, root: Path) -> None:
        self.cwd = root
        self.files = LocalFiles(root)
        self.processes = LocalProcesses()
        self.code = CodeOfBench(SessionCode(self.files, ReadingCode(self.files, self.files.is_ignored, None), None))
        self.shown: list[str] = []
        self.artifacts = root.parent / f"{root.name}-artifacts"

    async def ask(self, asked: QuestionAsk) -> str | None:
        return None

    def show(self, output: str) -> None:
        self.shown.append(output)

    def announce(self, text: str) -> None:
        self.show(f"{text}\n")

    def keep(self, data: bytes) -> str:
        return short_name(self.artifacts, keep_artifact(self.artifacts, data)[0])

    async def keep_file(self, path: Path) -> str:
        return short_name(self.artifacts, keep_artifact_file(self.artifacts, path)[0])

    def kept(self, name: str) -> Path:
        try:
            return find_artifact(self.artifacts, name)
        except ArtifactMissing as error:
            raise ToolError(str(error)) from error

    @property
    def all_kept(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.artifacts.glob("*"))]

    def call(self, name: str, **arguments: Any) -> ToolResult:
        return asyncio.run(self.call_in_loop(name, **arguments))

    async def call_in_loop(self, name: str, **arguments: Any) -> ToolResult:
        """One of several calls in one event loop."""
        with told_to_model():
            prepared = await self._prepared(name, arguments)
            return await prepared.run()

    def preview(self, name: str, **arguments: Any) -> Preview:
        return self.prepare(name, **arguments).preview

    def prepare(self, name: str, **arguments: Any) -> Prepared:
        """The call worked out, to be run later with `run`."""
        with told_to_model():
            return asyncio.run(self._prepared(name, arguments))

    def run(self, prepared: Prepared) -> ToolResult:
        """Run what was prepared."""

        async def run() -> ToolResult:
            return await prepared.run()

        with told_to_model():
            return asyncio.run(run())

    async def _prepared(self, name: str, arguments: dict[str, Any]) -> Prepared:
        tool = by_name(builtin_tools())[name]
        return await tool.prepare(tool.decode(arguments), self)


@contextmanager
def told_to_model() -> Iterator[None]:
    """Whatever the executor would tell the model becomes a `ToolError`."""
    try:
        yield
    except ToolError:
        raise
    except REPORTED_TO_MODEL as error:
        raise ToolError(str(error)) from error

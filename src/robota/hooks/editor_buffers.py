"""Steps around calls that read and write what an editor has not saved: there, and nowhere else."""

import asyncio
from pathlib import Path
from typing import Final

from robota.contracts.hook import BlockCall, CompletedCall, HookContext, Proceed
from robota.contracts.tool import AnyTool, BadArguments, ToolCall, ToolResult
from robota.protocol.port import EditorFiles
from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import FileProblem

# Larger files are read from disk: comparing them with each call would take too long.
MAX_BYTES: Final = 1024 * 1024
SECONDS: Final = 10.0
CHANGED: Final = (
    "{path} was changed in the editor while this call was decided. Nothing was changed. Read it again, then repeat "
    "the call on its current content."
)
NOT_TAKEN: Final = (
    "The editor has not taken the change of {path}: {problem}. The file has unsaved changes there, so it was not "
    "changed on disk either."
)


class EditorBuffers:
    """Asks the editor about the files of each call, before it and again after it was approved."""

    def __init__(self, editor: EditorFiles, files: LocalFiles) -> None:
        self._editor = editor
        self._files = files
        self._buffers = files.buffers

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed:
        for path in self._paths_of(tool, call):
            self._buffers.note(path, await self._unsaved(path))
        return Proceed()

    async def confirm(self, tool: AnyTool, call: ToolCall, context: HookContext) -> BlockCall | None:
        for path in self._paths_of(tool, call):
            now = await self._unsaved(path)
            if now != self._buffers.get(path):
                self._buffers.note(path, now)
                return BlockCall(reason=CHANGED.format(path=self._shown(path)))
        return None

    async def after_tool(self, completed: CompletedCall, context: HookContext) -> ToolResult:
        """Hand over what the call has written. What the user has typed meanwhile stays."""
        result = completed.result
        for path, (before, after) in self._buffers.take_written().items():
            problem = await self._hand_over(path, before, after)
            self._buffers.note(path, await self._unsaved(path))
            if problem is not None:
                return ToolResult(content=problem, is_error=True)
        return result

    async def _hand_over(self, path: Path, before: bytes, after: bytes) -> str | None:
        shown = self._shown(path)
        if await self._unsaved(path) != before:
            return CHANGED.format(path=shown)
        try:
            text = after.decode().removeprefix("\ufeff").replace("\r\n", "\n")
        except UnicodeDecodeError:
            return NOT_TAKEN.format(path=shown, problem="it would not be text")
        try:
            async with asyncio.timeout(SECONDS):
                problem = await self._editor.write(str(path), text)
        except TimeoutError:
            problem = "it does not answer"
        return None if problem is None else NOT_TAKEN.format(path=shown, problem=problem)

    async def _unsaved(self, path: Path) -> bytes | None:
        """What the editor has of a file, if that is not what is on disk; in the encoding of the file."""
        try:
            saved = self._files.read_saved(str(path), MAX_BYTES).data
            text = saved.decode()
        except (FileProblem, UnicodeDecodeError):
            return None
        try:
            async with asyncio.timeout(SECONDS):
                shown = await self._editor.read(str(path))
        except TimeoutError:
            return None
        if shown is None:
            return None
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        has_returns = "\r\n" in text
        plain = shown.removeprefix("\ufeff").replace("\r\n", "\n")
        if plain == text.removeprefix("\ufeff").replace("\r\n", "\n"):
            return None
        return (mark + (plain.replace("\n", "\r\n") if has_returns else plain)).encode()

    def _paths_of(self, tool: AnyTool, call: ToolCall) -> list[Path]:
        """The existing files that a call names."""
        try:
            written = tool.touches(tool.decode(call.input)).paths
        except BadArguments:
            return []
        found: list[Path] = []
        for path in written:
            try:
                real = self._files.resolve(path)
            except FileProblem:
                continue
            if real.is_file() and real not in found:
                found.append(real)
        return found

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self._files.root))

"""What a running tool can reach."""

from pathlib import Path
from typing import Final

from robota.contracts.tool import ToolCall, ToolError
from robota.contracts.workspace import Files, Processes
from robota.engine.record.rows import StreamingRow
from robota.engine.task.runtime import TaskRuntime
from robota.log.errors import ArtifactMissing

NOT_KEPT: Final = "(not kept: the session log cannot be written)"


class CallContext:
    """The `ToolContext` of one call."""

    def __init__(self, runtime: TaskRuntime, call: ToolCall) -> None:
        self._runtime = runtime
        self._call = call
        self._output: StreamingRow | None = None

    @property
    def cwd(self) -> Path:
        return self._runtime.options.cwd

    @property
    def call_id(self) -> str:
        return self._call.id

    @property
    def files(self) -> Files:
        return self._runtime.services.files

    @property
    def processes(self) -> Processes:
        return self._runtime.services.processes

    def show(self, output: str) -> None:
        if self._output is None:
            self._output = self._runtime.rows.stream("command_output", call_id=self._call.id)
        self._output.append(output)

    def keep(self, data: bytes) -> str:
        return self._runtime.journal.keep(data) or NOT_KEPT

    async def keep_file(self, path: Path) -> str:
        return await self._runtime.journal.keep_file(path) or NOT_KEPT

    def kept(self, name: str) -> Path:
        try:
            return self._runtime.journal.kept(name)
        except ArtifactMissing as error:
            raise ToolError(str(error)) from error

    @property
    def sees_images(self) -> bool:
        return self._runtime.services.model.info.sees_images

    def close(self, *, interrupted: bool = False) -> None:
        """The tool has ended; so has its output."""
        if self._output is not None:
            self._output.finish(**({"interrupted": True} if interrupted else {}))

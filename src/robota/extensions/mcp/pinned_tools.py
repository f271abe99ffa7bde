"""The definitions of tools that a person has seen: kept in the user's directory, so that a later change is noticed.

A server can describe a tool harmlessly until it is trusted and otherwise from then on. What differs from what was
pinned is not offered to the model until a person approves it.
"""

import difflib
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import only_writer, read_file, replace_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.extensions.mcp.definitions import Server
from robota.extensions.mcp.remote_tool import RemoteTool
from robota.text.visible import visible

DIRECTORY: Final = "mcp"


class PinnedTools(msgspec.Struct, frozen=True, kw_only=True):
    """What was pinned of one server in one workspace; the first two are for a person who looks into the file."""

    server: str
    workspace: str
    tools: tuple[RemoteTool, ...] = ()


class ToolChange(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that is not as it was pinned. `before` is None for one that was not there."""

    after: RemoteTool
    before: RemoteTool | None = None

    @property
    def diff(self) -> tuple[str, ...]:
        before = () if self.before is None else _lines(self.before)
        return tuple(difflib.unified_diff(before, _lines(self.after), lineterm="", n=2))[2:]


class PinnedToolStore:
    """The pins of one workspace. A server is known by its name and its entry as written: another entry is new."""

    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        self._workspace = os.path.realpath(workspace)
        self._directory = user_directory(env) / DIRECTORY

    def of(self, server: Server) -> PinnedTools | None:
        """None if this server was never seen here. Raises `ConfigError` if that cannot be known."""
        path = self._path(server)
        try:
            return msgspec.json.decode(read_file(path), type=PinnedTools)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{path}, which says what you approved of the MCP server {server.name}, cannot be read ({error}), so "
                f"its tools are not used. It was left as it is. To start anew: robota mcp approve {server.name}"
            ) from error

    def pin(self, server: Server, tools: Iterable[RemoteTool]) -> None:
        """From now on these, and no others. Raises `ConfigError` if it cannot be kept."""
        pins = PinnedTools(server=server.name, workspace=self._workspace, tools=tuple(tools))
        try:
            with only_writer(self._directory):
                replace_file(self._path(server), msgspec.json.format(msgspec.json.encode(pins), indent=1))
        except OSError as error:
            raise ConfigError(f"What {server.name} offers cannot be kept in {self._directory}: {error}.") from error

    def _path(self, server: Server) -> Path:
        identity = msgspec.json.encode([self._workspace, server.name, server.written], order="deterministic")
        return self._directory / f"{hashlib.sha256(identity).hexdigest()}.json"


def changes(pins: PinnedTools, tools: Iterable[RemoteTool]) -> tuple[ToolChange, ...]:
    """What of the tools is different now, or was not there."""
    before = {tool.name: tool for tool in pins.tools}
    return tuple(
        ToolChange(before=before.get(tool.name), after=tool)
        for tool in tools
        if tool.name not in before or before[tool.name].digest != tool.digest
    )


def _lines(tool: RemoteTool) -> list[str]:
    schema = msgspec.json.format(msgspec.json.encode(tool.schema, order="deterministic"), indent=2).decode()
    return visible(f"{tool.name}\n{tool.description}\n{schema}").split("\n")

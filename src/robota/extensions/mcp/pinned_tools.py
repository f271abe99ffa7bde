"""Pins the tool definitions of MCP servers in `robota.lock`, so that later changes are noticed.

A server could describe a tool harmlessly until it is trusted, and differently afterwards. A tool that differs from
its pin is not offered to the model until the user approves it.
"""

import difflib
import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from robota.config.errors import ConfigError
from robota.config.trust.lock_file import (
    Agreement,
    AgreementKind,
    Part,
    agree,
    agreements,
    digest_of_parts,
    kept_content,
    lock_path,
)
from robota.extensions.mcp.definitions import Server
from robota.extensions.mcp.remote_tool import RemoteTool
from robota.text.visible import visible


class PinnedTools(msgspec.Struct, frozen=True, kw_only=True):
    """The pinned tools of one server in one workspace."""

    tools: tuple[RemoteTool, ...] = ()


class ToolChange(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that differs from its pin. `before` is None for a new tool."""

    after: RemoteTool
    before: RemoteTool | None = None

    @property
    def diff(self) -> tuple[str, ...]:
        before = () if self.before is None else _lines(self.before)
        return tuple(difflib.unified_diff(before, _lines(self.after), lineterm="", n=2))[2:]


class PinnedToolStore:
    """The pins of one workspace. A server is identified by its name and entry: a changed entry is a new server."""

    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        self._workspace = os.path.realpath(workspace)
        self._env = env

    def load(self, server: Server) -> PinnedTools | None:
        """The pins of a server; None if it is new here. Raises `ConfigError` if they cannot be read."""
        try:
            agreement = agreements(AgreementKind.MCP_SERVER, self._env).get(self._key(server))
        except ConfigError as error:
            raise ConfigError(f"{error} What you approved of the MCP server {server.name} is among it.") from error
        if agreement is None:
            return None
        return PinnedTools(tools=tuple(self._pinned_tool(name, digest) for name, digest in agreement.parts.items()))

    def pin(self, server: Server, tools: Iterable[RemoteTool]) -> None:
        """Replace the pins of a server. Raises `ConfigError` if they cannot be written."""
        parts = [Part(name=tool.name, digest=tool.digest, data=msgspec.json.encode(tool)) for tool in tools]
        agreement = Agreement(
            said="yes",
            digest=digest_of_parts(parts),
            given_ms=time.time_ns() // 1_000_000,
            parts={part.name: part.digest for part in parts},
        )
        try:
            agree(AgreementKind.MCP_SERVER, self._key(server), agreement, parts, self._env)
        except OSError as error:
            path = lock_path(self._env)
            raise ConfigError(f"What {server.name} offers cannot be saved in {path}: {error}.") from error

    def _key(self, server: Server) -> str:
        """The key in the lock file: name and workspace for people who read it, and a hash that identifies the entry."""
        identity = msgspec.json.encode([self._workspace, server.name, server.written], order="deterministic")
        return f"{server.name} in {self._workspace} as {hashlib.sha256(identity).hexdigest()}"

    def _pinned_tool(self, name: str, digest: str) -> RemoteTool:
        """A pinned tool. If its content is lost, it looks changed and has to be approved again."""
        try:
            return msgspec.json.decode(kept_content(digest, self._env) or b"", type=RemoteTool)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return RemoteTool(name=name)


def changes(pins: PinnedTools, tools: Iterable[RemoteTool]) -> tuple[ToolChange, ...]:
    """The tools that are new or differ from their pins."""
    before = {tool.name: tool for tool in pins.tools}
    return tuple(
        ToolChange(before=before.get(tool.name), after=tool)
        for tool in tools
        if tool.name not in before or before[tool.name].digest != tool.digest
    )


def _lines(tool: RemoteTool) -> list[str]:
    schema = msgspec.json.format(msgspec.json.encode(tool.schema, order="deterministic"), indent=2).decode()
    return visible(f"{tool.name}\n{tool.description}\n{schema}").split("\n")

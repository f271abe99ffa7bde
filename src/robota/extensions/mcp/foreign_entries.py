"""MCP servers in the configurations of other agents, as entries of ours. Nothing of them is started or changed."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.durable_file import read_file
from robota.config.errors import ConfigError
from robota.config.settings.json_text import NotAnObject, read_object

# `//` and `/* */` outside of strings, and a comma before a closing bracket, which JSON with comments may have.
COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
LAST_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
NOT_IN_SERVER_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST_SERVER_NAME: Final = 32


class ForeignEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A server of another agent: its name there, our entry for it, and what of it has no meaning here."""

    name: str
    where: str
    entry: dict[str, Any]
    left_out: tuple[str, ...] = ()

    @property
    def our_name(self) -> str:
        """The name made of what names of servers may have here."""
        plain = re.sub(r"__+", "_", NOT_IN_SERVER_NAMES.sub("-", self.name))
        return plain[:LONGEST_SERVER_NAME].strip("-_")


class ForeignAgent(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent keeps its servers, in the home directory and in a workspace, and how they are read."""

    at_home: tuple[str, ...]
    in_workspace: tuple[str, ...] = ()
    read: Callable[[Path, Path], Iterator[ForeignEntry]]


def entries_of(agent: str, root: Path, home: Path, file: Path | None = None) -> tuple[ForeignEntry, ...]:
    """The servers of an agent; of one name, the workspace's is meant. Raises `ConfigError` for an unreadable file."""
    known = AGENTS[agent]
    places = [*(home / path for path in known.at_home), *(root / path for path in known.in_workspace)]
    found: dict[str, ForeignEntry] = {}
    for path in [file] if file is not None else places:
        if file is None and not path.is_file():
            continue
        try:
            found |= {entry.name: entry for entry in known.read(path, root)}
        except (OSError, UnicodeDecodeError, NotAnObject, tomllib.TOMLDecodeError, RecursionError) as error:
            raise ConfigError(f"{path} cannot be read: {error}. Nothing was written.") from error
    return tuple(found.values())


def _claude(path: Path, root: Path) -> Iterator[ForeignEntry]:
    """Of everywhere, then of this workspace, which win."""
    raw = _json(path)
    here = _object(_object(raw.get("projects")).get(str(root)))
    for section in (_object(raw.get("mcpServers")), _object(here.get("mcpServers"))):
        for name, written in section.items():
            entry = dict(_object(written))
            if "url" in entry:  # Cursor, whose form is the same, says no type
                entry.setdefault("type", "http")
            yield _kept(name, path, entry)


def _codex(path: Path, root: Path) -> Iterator[ForeignEntry]:
    raw = tomllib.loads(read_file(path).decode())
    for name, written in _object(raw.get("mcp_servers")).items():
        entry = dict(_object(written))
        if "url" in entry:
            entry["type"] = "http"
        headers = dict(_object(entry.pop("http_headers", None)))
        headers |= {key: f"${{{value}}}" for key, value in _object(entry.pop("env_http_headers", None)).items()}
        token = entry.pop("bearer_token_env_var", None)
        if token:
            headers["Authorization"] = f"Bearer ${{{token}}}"
        if headers:
            entry["headers"] = headers
        passed = entry.pop("env_vars", None)
        if isinstance(passed, list):
            entry["env"] = {**{each: f"${{{each}}}" for each in map(str, passed)}, **_object(entry.get("env"))}
        seconds = entry.pop("tool_timeout_sec", None)
        if isinstance(seconds, int | float):
            entry["timeout"] = seconds * 1000
        if entry.pop("enabled", True) is False:
            entry["disabled"] = True
        yield _kept(name, path, entry)


def _gemini(path: Path, root: Path) -> Iterator[ForeignEntry]:
    for name, written in _object(_json(path).get("mcpServers")).items():
        entry = dict(_object(written))
        if "httpUrl" in entry:
            entry |= {"type": "http", "url": entry.pop("httpUrl")}
        elif "url" in entry:
            entry.setdefault("type", "sse")
        yield _kept(name, path, _with_variables(entry, r"\$(\w+)"))


def _opencode(path: Path, root: Path) -> Iterator[ForeignEntry]:
    for name, written in _object(_json(path).get("mcp")).items():
        entry = dict(_object(written))
        if entry.pop("type", "local") == "remote":
            entry["type"] = "http"
        elif isinstance(entry.get("command"), list) and entry["command"]:
            entry["command"], *entry["args"] = entry["command"]
        if "environment" in entry:
            entry["env"] = entry.pop("environment")
        if entry.pop("enabled", True) is False:
            entry["disabled"] = True
        yield _kept(name, path, _with_variables(entry, r"\{env:(\w+)\}"))


AGENTS: Final[Mapping[str, ForeignAgent]] = {
    "claude": ForeignAgent(at_home=(".claude.json",), read=_claude),
    "codex": ForeignAgent(at_home=(".codex/config.toml",), in_workspace=(".codex/config.toml",), read=_codex),
    "gemini": ForeignAgent(at_home=(".gemini/settings.json",), in_workspace=(".gemini/settings.json",), read=_gemini),
    "opencode": ForeignAgent(
        at_home=(".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
        in_workspace=("opencode.json", "opencode.jsonc"),
        read=_opencode,
    ),
}
KEPT_FIELDS: Final = frozenset({"type", "command", "args", "env", "url", "headers", "timeout", "disabled"})


def _kept(name: str, path: Path, entry: Mapping[str, Any]) -> ForeignEntry:
    """With the fields that mean something here."""
    ours = {key: value for key, value in entry.items() if key in KEPT_FIELDS}
    left_out = tuple(sorted(key for key in entry if key not in KEPT_FIELDS))
    return ForeignEntry(name=name, where=str(path), entry=ours, left_out=left_out)


def _with_variables(value: Any, pattern: str) -> Any:
    """The same with variables written as `${NAME}`."""
    if isinstance(value, str):
        return re.sub(pattern, r"${\1}", value)
    if isinstance(value, list):
        return [_with_variables(each, pattern) for each in value]
    if isinstance(value, dict):
        return {key: _with_variables(each, pattern) for key, each in value.items()}
    return value


def _json(path: Path) -> dict[str, Any]:
    text = read_file(path).decode("utf-8-sig")
    without_comments = COMMENT.sub(lambda found: found[1] or " ", text)
    return read_object(LAST_COMMA.sub(lambda found: found[1] or "", without_comments))[0]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

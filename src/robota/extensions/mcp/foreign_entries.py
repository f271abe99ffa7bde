"""Reads MCP servers from the configurations of other agents and converts them to entries of Robota."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.durable_file import read_file
from robota.config.errors import ConfigError
from robota.config.settings.json_text import NotAnObject, read_object

# `//` and `/* */` outside of strings, and trailing commas, which JSON with comments may have.
COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
TRAILING_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
NOT_IN_SERVER_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
MAX_SERVER_NAME: Final = 32


class ForeignEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A server of another agent, converted. `left_out` names its fields that Robota does not have."""

    name: str
    where: str
    entry: dict[str, Any]
    left_out: tuple[str, ...] = ()

    @property
    def robota_name(self) -> str:
        """The name with only the characters that server names may have in Robota."""
        plain = re.sub(r"__+", "_", NOT_IN_SERVER_NAMES.sub("-", self.name))
        return plain[:MAX_SERVER_NAME].strip("-_")


class ForeignAgent(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration files of an agent, relative to the home directory and the workspace, and their reader."""

    at_home: tuple[str, ...]
    in_workspace: tuple[str, ...] = ()
    read: Callable[[Path, Path], Iterator[ForeignEntry]]


def read_foreign_entries(agent: str, root: Path, home: Path, file: Path | None = None) -> tuple[ForeignEntry, ...]:
    """The servers of an agent; the workspace overrides the home directory. Raises `ConfigError`."""
    definition = AGENTS[agent]
    paths = [*(home / path for path in definition.at_home), *(root / path for path in definition.in_workspace)]
    entries: dict[str, ForeignEntry] = {}
    for path in [file] if file is not None else paths:
        if file is None and not path.is_file():
            continue
        try:
            entries |= {entry.name: entry for entry in definition.read(path, root)}
        except (OSError, UnicodeDecodeError, NotAnObject, tomllib.TOMLDecodeError, RecursionError) as error:
            raise ConfigError(f"{path} cannot be read: {error}. Nothing was written.") from error
    return tuple(entries.values())


def _claude(path: Path, root: Path) -> Iterator[ForeignEntry]:
    """Servers for all projects, then those for this one, which override them."""
    raw = _json(path)
    here = _object(_object(raw.get("projects")).get(str(root)))
    for section in (_object(raw.get("mcpServers")), _object(here.get("mcpServers"))):
        for name, written in section.items():
            entry = dict(_object(written))
            if "url" in entry:  # Cursor has the same format without a type
                entry.setdefault("type", "http")
            yield _entry(name, path, entry)


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
            entry["env"] = {
                **{variable: f"${{{variable}}}" for variable in map(str, passed)},
                **_object(entry.get("env")),
            }
        seconds = entry.pop("tool_timeout_sec", None)
        if isinstance(seconds, int | float):
            entry["timeout"] = seconds * 1000
        if entry.pop("enabled", True) is False:
            entry["disabled"] = True
        yield _entry(name, path, entry)


def _gemini(path: Path, root: Path) -> Iterator[ForeignEntry]:
    for name, written in _object(_json(path).get("mcpServers")).items():
        entry = dict(_object(written))
        if "httpUrl" in entry:
            entry |= {"type": "http", "url": entry.pop("httpUrl")}
        elif "url" in entry:
            entry.setdefault("type", "sse")
        yield _entry(name, path, _with_robota_variables(entry, r"\$(\w+)"))


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
        yield _entry(name, path, _with_robota_variables(entry, r"\{env:(\w+)\}"))


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


def _entry(name: str, path: Path, entry: Mapping[str, Any]) -> ForeignEntry:
    """An entry with only the fields that Robota has."""
    kept = {key: value for key, value in entry.items() if key in KEPT_FIELDS}
    left_out = tuple(sorted(key for key in entry if key not in KEPT_FIELDS))
    return ForeignEntry(name=name, where=str(path), entry=kept, left_out=left_out)


def _with_robota_variables(value: Any, pattern: str) -> Any:
    """Rewrite variables that match `pattern` as `${NAME}`, in nested values too."""
    if isinstance(value, str):
        return re.sub(pattern, r"${\1}", value)
    if isinstance(value, list):
        return [_with_robota_variables(inner, pattern) for inner in value]
    if isinstance(value, dict):
        return {key: _with_robota_variables(inner, pattern) for key, inner in value.items()}
    return value


def _json(path: Path) -> dict[str, Any]:
    text = read_file(path).decode("utf-8-sig")
    without_comments = COMMENT.sub(lambda match: match[1] or " ", text)
    return read_object(TRAILING_COMMA.sub(lambda match: match[1] or "", without_comments))[0]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

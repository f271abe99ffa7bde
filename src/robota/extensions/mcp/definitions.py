"""Validates entries for MCP servers, as written in settings and `.mcp.json`, and expands their variables."""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.text.visible import single_line

# Without `__`, because `mcp__a__b` in a rule would otherwise be ambiguous.
NAME: Final = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,31}(?<!_)")
STDIO: Final = frozenset({"stdio"})
HTTP: Final = frozenset({"http", "streamable-http"})
CALL_TIMEOUT_S: Final = 120.0
VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class StdioServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server that Robota starts as a program. `written` is its entry, `where` the file that has it."""

    name: str
    where: str
    written: dict[str, Any]
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    call_timeout_s: float = CALL_TIMEOUT_S


class HttpServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server that is reached over HTTP."""

    name: str
    where: str
    written: dict[str, Any]
    url: str
    headers: dict[str, str] = {}
    call_timeout_s: float = CALL_TIMEOUT_S


Server = StdioServer | HttpServer


class InvalidServer(Exception):
    """The entry is invalid; the message says why."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    type: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    timeout: float | None = None  # milliseconds
    disabled: bool = False


SERVER_FIELDS: Final = tuple(field.encode_name for field in msgspec.structs.fields(_Entry))


def read_server(
    name: str, written: Mapping[str, Any], where: str, env: Mapping[str, str]
) -> tuple[Server | None, tuple[str, ...]]:
    """The server, or None if its entry is invalid or disabled, and notices for the user."""
    label = f"MCP server {single_line(name)} in {single_line(where, 4096)}"
    try:
        entry = _validated(name, written)
        if entry.disabled:
            return None, ()
        server, unset = _server(name, entry, written, where, env)
    except InvalidServer as problem:
        return None, (f"{label} was ignored: {problem}. Correct the entry; the other servers work.",)
    names = ", ".join(f"${{{variable}}}" for variable in unset)
    return server, (f"{label}: {names} is not set, and stays as it is written.",) if unset else ()


def problem_with_server(name: str, written: Mapping[str, Any]) -> str | None:
    """Why an entry is invalid; None if it is valid."""
    try:
        _server(name, _validated(name, written), written, "", {})
    except InvalidServer as problem:
        return str(problem)
    return None


def _validated(name: str, written: Mapping[str, Any]) -> _Entry:
    if NAME.fullmatch(name) is None:
        raise InvalidServer("its name may have letters, digits, single _ and -, at most 32, and must not start with _")
    try:
        entry = msgspec.convert(written, _Entry)
    except msgspec.ValidationError as error:
        raise InvalidServer(str(error)) from error
    if entry.timeout is not None and not 0 < entry.timeout < math.inf:
        raise InvalidServer("timeout must be more than 0 milliseconds")
    return entry


def _server(
    name: str, entry: _Entry, written: Mapping[str, Any], where: str, env: Mapping[str, str]
) -> tuple[Server, tuple[str, ...]]:
    unset: dict[str, None] = {}

    def fill(text: str) -> str:
        value, missing = expand_variables(text, env)
        unset.update(dict.fromkeys(missing))
        return value

    common: dict[str, Any] = {"name": name, "where": where, "written": dict(written)}
    if entry.timeout is not None:
        common["call_timeout_s"] = entry.timeout / 1000
    kind = _kind(entry)
    if kind in STDIO:
        if not entry.command:
            raise InvalidServer("it has no command")
        args = tuple(map(fill, entry.args))
        own = {variable: fill(value) for variable, value in entry.env.items()}
        return StdioServer(command=fill(entry.command), args=args, env=own, **common), tuple(unset)
    url = fill(entry.url or "")
    if not url.startswith(("http://", "https://")):
        raise InvalidServer("its url must start with https:// or http://")
    headers = {header: fill(value) for header, value in entry.headers.items()}
    return HttpServer(url=url, headers=headers, **common), tuple(unset)


def _kind(entry: _Entry) -> str:
    if entry.type in STDIO | HTTP:
        return str(entry.type)
    if entry.type is not None:
        raise InvalidServer(f"the type {single_line(entry.type)!r} is not supported; it can be stdio or http")
    if entry.command:
        return "stdio"
    raise InvalidServer('a url needs "type": "http" beside it' if entry.url else "it has neither command nor url")


def expand_variables(text: str, env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Expand `${VAR}` and `${VAR:-default}`. Also returns the names that are not set, which stay as they are."""
    unset: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if env.get(name):
            return env[name]
        if default is not None:
            return str(default)
        if name in env:
            return ""
        unset.append(name)
        return match[0]

    return VARIABLE.sub(value_of, text), tuple(unset)

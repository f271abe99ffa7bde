"""Parses `plugin.json`. Unknown keys are ignored; a wrong type is an error."""

import re
from typing import Any, Final

import msgspec

from robota.config.settings.json_text import NotAnObject, read_object
from robota.text.visible import single_line

# In order of precedence.
MANIFEST_FILES: Final = (".robota-plugin/plugin.json", ".claude-plugin/plugin.json")
# Names are part of tool names, commands and paths.
NAME: Final = re.compile(r"(?=.{1,64}\Z)[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")
# These have another meaning before a colon or after an @.
RESERVED: Final = frozenset({"mcp", "robota", "local", "git"})
MAX_TEXT: Final = 1024
MAX_VERSION: Final = 64


class InvalidPlugin(Exception):
    """A plugin or marketplace is invalid; the message says why."""


class PluginManifest(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest. Paths are not validated yet; hooks and servers are paths or inline objects."""

    name: str
    version: str = ""
    description: str = ""
    author: str = ""
    homepage: str = ""
    license: str = ""
    skills: tuple[str, ...] = ()
    commands: tuple[str, ...] | None = None
    output_styles: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    hooks: tuple[str | dict[str, Any], ...] = ()
    servers: tuple[str | dict[str, Any], ...] = ()


class _Author(msgspec.Struct, frozen=True):
    name: str = ""


_Paths = str | tuple[str, ...]
_Defined = str | dict[str, Any] | tuple[str | dict[str, Any], ...]


class _ManifestJson(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str = ""
    version: str = ""
    description: str = ""
    author: str | _Author = ""
    homepage: str = ""
    license: str = ""
    skills: _Paths = ()
    commands: _Paths | None = None
    output_styles: _Paths | None = None
    agents: _Paths | None = None
    hooks: _Defined = ()
    mcp_servers: _Defined = ()


def parse_manifest(data: bytes, fallback_name: str) -> PluginManifest:
    """Parse a `plugin.json`; `fallback_name` is used if it has no name. Raises `InvalidPlugin`."""
    try:
        read = msgspec.convert(read_object(data.decode("utf-8-sig"))[0], _ManifestJson)
    except (NotAnObject, UnicodeDecodeError) as error:
        raise InvalidPlugin(f"its plugin.json cannot be read: {error}") from error
    except (msgspec.ValidationError, RecursionError) as error:
        raise InvalidPlugin(f"its plugin.json cannot be used: {single_line(str(error), 200)}") from error
    return PluginManifest(
        name=validated_name(read.name or fallback_name),
        version=single_line(read.version, MAX_VERSION),
        description=single_line(read.description, MAX_TEXT),
        author=single_line(read.author if isinstance(read.author, str) else read.author.name, MAX_TEXT),
        homepage=single_line(read.homepage, MAX_TEXT),
        license=single_line(read.license, MAX_TEXT),
        skills=_as_tuple(read.skills),
        commands=None if read.commands is None else _as_tuple(read.commands),
        output_styles=None if read.output_styles is None else _as_tuple(read.output_styles),
        agents=None if read.agents is None else _as_tuple(read.agents),
        hooks=_definitions(read.hooks),
        servers=_definitions(read.mcp_servers),
    )


def validated_name(name: str) -> str:
    """Return `name` if it can be part of commands, tool names and paths. Raises `InvalidPlugin`."""
    if NAME.fullmatch(name) is None or name.lower() in RESERVED:
        raise InvalidPlugin(
            f"{single_line(name, 80)!r} cannot be its name: letters and digits with single - or _ between them, "
            f"at most 64, and none of {', '.join(sorted(RESERVED))}"
        )
    return name


def _as_tuple(paths: _Paths) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else paths


def _definitions(written: _Defined) -> tuple[str | dict[str, Any], ...]:
    return written if isinstance(written, tuple) else (written,)

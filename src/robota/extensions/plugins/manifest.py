"""`plugin.json`: what a plugin says of itself. Of what it does not know it takes nothing; a wrong type is an error."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.config.settings.json_text import NotAnObject, read_object
from robota.text.visible import single_line

# In the order in which they are looked for.
MANIFEST_FILES: Final = (".robota-plugin/plugin.json", ".claude-plugin/plugin.json")
# Part of the names of tools and commands, and of paths.
NAME: Final = re.compile(r"(?=.{1,64}\Z)[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")
# Something else is meant by these in front of a colon or behind an @.
RESERVED: Final = frozenset({"mcp", "robota", "local", "git"})
LONGEST_TEXT: Final = 1024
LONGEST_VERSION: Final = 64


class InvalidPlugin(Exception):
    """It cannot be used; the text says why."""


class PluginManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a plugin says of itself. Paths are as written; hooks and servers are paths or the things themselves."""

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


class _Written(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
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
    """Read a `plugin.json`. Raises `InvalidPlugin`."""
    try:
        return manifest_from(read_object(data.decode("utf-8-sig"))[0], fallback_name)
    except (NotAnObject, UnicodeDecodeError) as error:
        raise InvalidPlugin(f"its plugin.json cannot be read: {error}") from error


def manifest_from(written: Mapping[str, Any], fallback_name: str) -> PluginManifest:
    """A manifest from its JSON, or from an entry of a marketplace. Raises `InvalidPlugin`."""
    try:
        read = msgspec.convert(written, _Written)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InvalidPlugin(f"its plugin.json cannot be used: {single_line(str(error), 200)}") from error
    return PluginManifest(
        name=checked_name(read.name or fallback_name),
        version=single_line(read.version, LONGEST_VERSION),
        description=single_line(read.description, LONGEST_TEXT),
        author=single_line(read.author if isinstance(read.author, str) else read.author.name, LONGEST_TEXT),
        homepage=single_line(read.homepage, LONGEST_TEXT),
        license=single_line(read.license, LONGEST_TEXT),
        skills=_listed(read.skills),
        commands=None if read.commands is None else _listed(read.commands),
        output_styles=None if read.output_styles is None else _listed(read.output_styles),
        agents=None if read.agents is None else _listed(read.agents),
        hooks=_defined(read.hooks),
        servers=_defined(read.mcp_servers),
    )


def checked_name(name: str) -> str:
    """A name that can be part of a command, a tool and a path. Raises `InvalidPlugin`."""
    if NAME.fullmatch(name) is None or name.lower() in RESERVED:
        raise InvalidPlugin(
            f"{single_line(name, 80)!r} cannot be its name: letters and digits with single - or _ between them, "
            f"at most 64, and none of {', '.join(sorted(RESERVED))}"
        )
    return name


def _listed(paths: _Paths) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else paths


def _defined(written: _Defined) -> tuple[str | dict[str, Any], ...]:
    return written if isinstance(written, tuple) else (written,)

"""Find the user's package index: from a setting, else from the configuration of uv or pip. None is built in."""

import configparser
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from robota.config.durable_file import read_file
from robota.config.errors import ConfigError
from robota.config.paths import home_directory

VARIABLES: Final = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")


def index_address(env: Mapping[str, str], chosen: str | None = None) -> str | None:
    """The address of the simple index without a trailing slash; None if none is configured."""
    named = (env.get(variable, "") for variable in VARIABLES)
    for address in (chosen or "", *named, *_from_files(env)):
        # uv lets an index have a name: NAME=URL
        bare = address.strip().split("=", 1)[-1] if "://" in address.partition("=")[2] else address.strip()
        if bare.startswith(("http://", "https://")):
            return bare.rstrip("/")
    return None


def _from_files(env: Mapping[str, str]) -> Iterator[str]:
    for path in _uv_files(env):
        yield from _uv_index(path)
    for path in _pip_files(env):
        yield from _pip_index(path)


def _uv_files(env: Mapping[str, str]) -> Iterator[Path]:
    if env.get("UV_CONFIG_FILE"):
        yield Path(env["UV_CONFIG_FILE"])
    yield _config_home(env) / "uv" / "uv.toml"
    yield Path("/etc/uv/uv.toml")


def _pip_files(env: Mapping[str, str]) -> Iterator[Path]:
    if env.get("PIP_CONFIG_FILE"):
        yield Path(env["PIP_CONFIG_FILE"])
    if env.get("VIRTUAL_ENV"):
        yield Path(env["VIRTUAL_ENV"]) / "pip.conf"
    yield _config_home(env) / "pip" / "pip.conf"
    yield _home(env) / ".pip" / "pip.conf"
    yield Path("/etc/pip.conf")


def _uv_index(path: Path) -> Iterator[str]:
    try:
        settings: dict[str, Any] = tomllib.loads(read_file(path).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return
    indexes = settings.get("index", [])
    for index in indexes if isinstance(indexes, list) else []:
        if isinstance(index, dict) and index.get("default") is True and isinstance(index.get("url"), str):
            yield index["url"]
    for table in (settings, settings.get("pip", {})):
        if isinstance(table, dict) and isinstance(table.get("index-url"), str):
            yield table["index-url"]


def _pip_index(path: Path) -> Iterator[str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(read_file(path).decode())
    except (OSError, UnicodeDecodeError, configparser.Error):
        return
    for section in ("install", "global"):
        if parser.has_option(section, "index-url"):
            yield parser.get(section, "index-url")


def _config_home(env: Mapping[str, str]) -> Path:
    return Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else _home(env) / ".config"


def _home(env: Mapping[str, str]) -> Path:
    try:
        return home_directory(env)
    except ConfigError:
        return Path("/nonexistent")

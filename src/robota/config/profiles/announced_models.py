"""The models that servers listed, with the context windows they announced: remembered by the address of the server.

A session uses the announced window of its model, and completion offers the names without asking the server again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec

from robota.config.durable_file import read_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.transaction import transaction

FILE_NAME: Final = "announced-models.json"
MAX_SERVERS: Final = 50
MAX_MODELS: Final = 2_000

Windows = dict[str, Annotated[int, msgspec.Meta(ge=1)] | None]


def announced_models(base_url: str | None, env: Mapping[str, str]) -> Windows:
    """The context windows that the server at `base_url` announced, by model; None where it did not say."""
    return _read(_path(env)).get(_key(base_url), {})


def remember_announced(base_url: str | None, windows: Windows, env: Mapping[str, str]) -> None:
    """Replace what is known of a server. The servers that were asked longest ago are forgotten first."""
    path, key = _path(env), _key(base_url)
    listed = dict(list(windows.items())[:MAX_MODELS])
    try:
        if announced_models(base_url, env) == listed:
            return
        with transaction(path.parent) as files:
            others = {server: models for server, models in _read(path).items() if server != key}
            kept = dict([*others.items(), (key, listed)][-MAX_SERVERS:])
            files.write(path.name, msgspec.json.encode(kept) + b"\n")
    except (OSError, ConfigError):
        return  # it is asked again next time


def _read(path: Path) -> dict[str, Windows]:
    try:
        return msgspec.json.decode(read_file(path), type=dict[str, Windows])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, ConfigError):
        return {}


def _path(env: Mapping[str, str]) -> Path:
    return user_directory(env) / FILE_NAME


def _key(base_url: str | None) -> str:
    return (base_url or "").rstrip("/")

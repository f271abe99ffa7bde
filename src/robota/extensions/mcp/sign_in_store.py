"""Stores the OAuth tokens for MCP servers, one private file per server."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from robota.config.durable_file import read_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.transaction import transaction

DIRECTORY: Final = "mcp-sign-in"


class SignIn(msgspec.Struct, frozen=True, kw_only=True):
    """The sign-in to one server: tokens, their expiry (Unix time), our client registration, and the server metadata."""

    url: str
    tokens: dict[str, Any] | None = None
    expires_at: float | None = None
    client: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class SignInStore:
    """The sign-ins of the user, by the URL of the server."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._directory = user_directory(env) / DIRECTORY

    def load(self, url: str) -> SignIn | None:
        """The sign-in for a server; None if there is none, or its file is damaged."""
        try:
            return _decoded(read_file(self._directory / _name(url)), url)
        except OSError:
            return None

    def change(self, url: str, change: Callable[[SignIn], SignIn]) -> None:
        """Change the sign-in for a server, or make one. Raises `ConfigError` if it cannot be written."""
        try:
            with transaction(self._directory) as files:
                before = _decoded(files.read(_name(url)) or b"", url) or SignIn(url=url)
                files.write(_name(url), msgspec.json.encode(change(before)))
        except OSError as error:
            raise ConfigError(f"The sign-in cannot be saved in {self._directory}: {error}.") from error

    def forget(self, url: str) -> bool:
        """Delete the sign-in for a server; returns whether there was one. Raises `OSError`."""
        if not self._directory.is_dir():
            return False
        with transaction(self._directory) as files:
            files.remove(_name(url))
            return (self._directory / _name(url)).exists()


def _name(url: str) -> str:
    return f"{hashlib.sha256(url.encode()).hexdigest()}.json"


def _decoded(data: bytes, url: str) -> SignIn | None:
    """The sign-in in a file, if it is intact and for this server."""
    try:
        sign_in = msgspec.json.decode(data, type=SignIn)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return sign_in if sign_in.url == url else None

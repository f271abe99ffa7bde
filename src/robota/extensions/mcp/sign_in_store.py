"""Stores the OAuth tokens for MCP servers, one private file per server."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.durable_file import only_writer, read_file, replace_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory

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
            found = msgspec.json.decode(read_file(self._path(url)), type=SignIn)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return found if found.url == url else None

    def save(self, sign_in: SignIn) -> None:
        """Replace the sign-in for its server. Raises `ConfigError` if it cannot be written."""
        try:
            with only_writer(self._directory):
                replace_file(self._path(sign_in.url), msgspec.json.encode(sign_in))
        except OSError as error:
            raise ConfigError(f"The sign-in cannot be saved in {self._directory}: {error}.") from error

    def forget(self, url: str) -> bool:
        """Delete the sign-in for a server; returns whether there was one."""
        try:
            self._path(url).unlink()
        except FileNotFoundError:
            return False
        return True

    def _path(self, url: str) -> Path:
        return self._directory / f"{hashlib.sha256(url.encode()).hexdigest()}.json"

"""What a person signed in to: the tokens for MCP servers, each in a file of its own that nobody else can read."""

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
    """The tokens, when they expire (seconds since 1970), who we are to the server, and where to refresh them."""

    url: str
    tokens: dict[str, Any] | None = None
    expires_at: float | None = None
    client: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class SignInStore:
    """The sign-ins of a person, by the address of the server."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._directory = user_directory(env) / DIRECTORY

    def of(self, url: str) -> SignIn | None:
        """None if there is none, or what is there cannot be used."""
        try:
            found = msgspec.json.decode(read_file(self._path(url)), type=SignIn)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return found if found.url == url else None

    def keep(self, sign_in: SignIn) -> None:
        """Replace what was kept of this server. Raises `ConfigError` if it cannot be written."""
        try:
            with only_writer(self._directory):
                replace_file(self._path(sign_in.url), msgspec.json.encode(sign_in))
        except OSError as error:
            raise ConfigError(f"The sign-in cannot be kept in {self._directory}: {error}.") from error

    def forget(self, url: str) -> bool:
        """Whether there was something to forget."""
        path = self._path(url)
        is_there = path.exists()
        path.unlink(missing_ok=True)
        return is_there

    def _path(self, url: str) -> Path:
        return self._directory / f"{hashlib.sha256(url.encode()).hexdigest()}.json"

"""The `options` of a provider profile: the common ones, and how they are read."""

from typing import Any, TypeVar

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.providers.chunks import EditFormat

Shape = TypeVar("Shape")


class ModelOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Facts that any profile may set for its model; the rest comes from the catalogue."""

    context_window: int | None = None
    max_output_tokens: int | None = None
    native_tools: bool | None = None
    sees_images: bool | None = None
    edit_format: EditFormat | None = None


class ServerOptions(ModelOptions, frozen=True, kw_only=True, rename="camel"):
    """Further options for profiles of servers. `body` and `headers` are added to every request unchanged."""

    headers: dict[str, str] = {}
    body: dict[str, Any] = {}


def options_of(profile: Profile, shape: type[Shape]) -> Shape:
    """Keys that `shape` does not know are left alone: others read them."""
    try:
        return msgspec.convert(profile.options, shape)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"The options of provider profile {profile.name!r} are wrong: {error}. Nothing was sent."
        ) from error

"""Reads the `options` of a provider profile into the shape its type wants."""

from typing import TypeVar

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles import Profile

Shape = TypeVar("Shape")


def options_of(profile: Profile, shape: type[Shape]) -> Shape:
    """Keys that `shape` does not know are left alone: others read them."""
    try:
        return msgspec.convert(profile.options, shape)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"The options of provider profile {profile.name!r} are wrong: {error}. Nothing was sent."
        ) from error

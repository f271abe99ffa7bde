"""A provider profile: which provider, where, which model, with what key."""

from typing import Any, Final

import msgspec

# What a profile can be called.
PROFILE_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]*"
NAMES_IN_JSON: Final = {"base_url": "baseURL", "api_key": "apiKey"}


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=NAMES_IN_JSON):
    """A profile as written in the settings, under its name. `apiKey` may be `$ENV:NAME`."""

    type: str
    name: str = ""
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    timeout: float | None = None
    options: dict[str, Any] = {}

"""What the profile of a vendor's own API may say about every model, and how it goes together with the catalogue."""

from typing import Any

import msgspec

from robota.config.profiles import Profile
from robota.providers.catalogue import entry_of, unknown_model
from robota.providers.definition import ModelInfo, catalogued


class VendorOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`options` of a profile. `body` and `headers` are added to every request as they are.

    What is left out of the first four comes from the catalogue.
    """

    context_window: int | None = None
    max_output_tokens: int | None = None
    native_tools: bool | None = None
    sees_images: bool | None = None
    headers: dict[str, str] = {}
    body: dict[str, Any] = {}


def vendor_model_info(profile: Profile, options: VendorOptions, unheard_of: ModelInfo) -> ModelInfo:
    """The profile's word, else the catalogue's, else what the vendor's models usually are."""
    info = catalogued(profile)
    if not entry_of(profile).is_known:
        window = options.context_window or unheard_of.context_window
        info = msgspec.structs.replace(unheard_of, notice=unknown_model(profile, window))
    told = {
        "context_window": options.context_window,
        "max_output_tokens": options.max_output_tokens,
        "native_tools": options.native_tools,
        "sees_images": options.sees_images,
    }
    return msgspec.structs.replace(info, **{name: value for name, value in told.items() if value is not None})

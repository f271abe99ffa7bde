"""Errors that vendors send inside a reply, told apart by the name they give them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.http.faults import fault_of_error_object, sentence, server_message


def fault_of_named_error(error: Any, key: str, kinds: Mapping[str, FaultKind]) -> ProviderFault:
    """The fault for an error whose `key` is in `kinds`; any other is judged by its number and its words."""
    kind = kinds.get(str(error.get(key))) if isinstance(error, dict) else None
    if kind is None:
        return fault_of_error_object(error)
    said = server_message(msgspec.json.encode(error).decode("utf-8", "replace"))
    return ProviderFault(kind, sentence(kind, said, None))

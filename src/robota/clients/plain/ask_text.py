"""The JSON that the text of some asks is."""

import json
from typing import Any

from robota.protocol.message import Message


def object_in(ask: Message) -> dict[str, Any]:
    """What the ask tells; nothing if it is no JSON object."""
    try:
        value = json.loads(ask.text or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

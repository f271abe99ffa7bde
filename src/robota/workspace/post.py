"""Post JSON to a server that a person named in their settings, and read the JSON it answers with."""

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx2

ANSWER_BYTES: Final = 1024 * 1024


async def post_json(url: str, headers: Mapping[str, str], body: bytes, timeout_s: float) -> dict[str, Any] | None:
    """The answer as an object, an empty one for an empty answer, or None if there was none that can be used."""
    try:
        async with httpx2.AsyncClient(timeout=timeout_s) as client:
            told = {"content-type": "application/json", **headers}
            response = await client.post(url, content=body, headers=told, follow_redirects=False)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError):
        return None
    if not response.is_success or len(response.content) > ANSWER_BYTES:
        return None
    if not response.content.strip():
        return {}
    try:
        said = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None

"""Post JSON to a server from the user's settings and read the response."""

import asyncio
from collections.abc import Mapping
from typing import Final

import httpx2

ANSWER_BYTES: Final = 1024 * 1024


class PostFailed(Exception):
    """There is no usable response. The message says why."""


async def post_json(url: str, headers: Mapping[str, str], body: bytes, timeout_s: float) -> str:
    """Post, and wait at most `timeout_s` for the whole response. Redirects are not followed."""
    sent_headers = {"content-type": "application/json", "accept-encoding": "identity", **headers}
    try:
        async with (
            asyncio.timeout(timeout_s),
            httpx2.AsyncClient(timeout=timeout_s) as client,
            client.stream("POST", url, content=body, headers=sent_headers, follow_redirects=False) as response,
        ):
            if not response.is_success:
                raise PostFailed(f"it answered with status {response.status_code}")
            return await _read(response)
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise PostFailed(f"it did not answer within {timeout_s:g} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ImportError, OSError, ValueError) as error:
        raise PostFailed(f"it cannot be reached: {error or type(error).__name__}") from error


async def _read(response: httpx2.Response) -> str:
    """The body. `PostFailed` if it is over the limit; not more than the limit is loaded into memory."""
    kept = bytearray()
    async for piece in response.aiter_raw():
        kept += piece
        if len(kept) > ANSWER_BYTES:
            raise PostFailed(f"its answer is over {ANSWER_BYTES} bytes")
    return kept.decode("utf-8", "replace")

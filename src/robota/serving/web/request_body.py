"""The JSON of a request, within limits of size and time."""

import asyncio
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from robota.protocol.codec import encode
from robota.protocol.connection.lines import MAX_LINE_BYTES
from robota.serving.web.guard import problem

READ_WITHIN_S: Final = 60.0
SMALL: Final = 64 * 1024

T = TypeVar("T")


class BadRequest(Exception):
    """The request makes no sense; `response` says why."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


async def body_of(request: Request, most: int = MAX_LINE_BYTES) -> bytes:
    """The whole body. Raises `BadRequest` if it is too long, or does not come."""
    pieces, size = [], 0
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    raise BadRequest(problem(413, "too_long", f"More than {most:,} bytes. Nothing was changed."))
                pieces.append(piece)
    except TimeoutError as error:
        raise BadRequest(problem(408, "too_slow", "The request did not come to its end.")) from error
    except ClientDisconnect as error:
        raise BadRequest(problem(400, "cut_off", "The request was cut off.")) from error
    return b"".join(pieces)


async def value_of(request: Request, shape: type[T]) -> T:
    """The body as a value. Raises `BadRequest`."""
    try:
        return msgspec.json.decode(await body_of(request, SMALL), type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(problem(400, "bad_request", f"Nothing was changed: {error}.")) from error


def reply(value: Any, status: int = 200) -> Response:
    """A value of the protocol as a response."""
    return Response(encode(value), status, {"cache-control": "no-store"}, "application/json")

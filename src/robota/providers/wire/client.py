"""A provider over HTTP, made of a body encoder and a reply parser, with one kept connection."""

import gc
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from robota.config.profiles.profile import Profile
from robota.providers.chunks import Chunk, ModelRequest
from robota.providers.definition import OfferedModel, Probed
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.wire.reply import WireReply

if TYPE_CHECKING:
    from robota.providers.http.client import Http

# A server that only sends pings may take this many times the idle timeout.
PINGS_FACTOR: Final = 4
UNKNOWN_ADDRESS: Final = (404, 405, 501)
MAX_WINDOW: Final = 1_000_000_000  # a larger one is a mistake of the server


class BodyEncoder(Protocol):
    """Encodes requests in one wire format."""

    def encode(self, request: ModelRequest) -> bytes:
        """The body of the request."""
        ...


class WireClient:
    """Sends requests to `url`, which may depend on the model; `new_reply` makes the parser of one reply.

    `if_unknown` is what to do about a server that does not know this address.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        headers: Mapping[str, str],
        url: str | Callable[[str], str],
        body: BodyEncoder,
        new_reply: Callable[[], WireReply[Any]],
        if_unknown: str = "",
    ) -> None:
        self._if_unknown = if_unknown
        self._headers = {**headers, "content-type": "application/json"}
        self._url = url
        self._body = body
        self._new_reply = new_reply
        self._profile = profile

    @cached_property
    def _http(self) -> "Http":
        return _http_for(self._profile)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """Send the request and read the reply as it arrives."""
        reply = self._new_reply()
        url = self._url if isinstance(self._url, str) else self._url(request.model)
        answer = self._http.post_stream(url, self._headers, self._body.encode(request))
        newest, longest_pings_s = monotonic(), PINGS_FACTOR * self._http.idle_s
        try:
            with _advised(self._if_unknown):
                async for data in answer:
                    chunks = reply.feed(data)
                    if reply.complete:
                        answer.leave()
                    if chunks:
                        yield chunks
                        newest = monotonic()
                    elif monotonic() - newest > longest_pings_s:
                        raise _only_pings(longest_pings_s)
                    if reply.fault is not None:
                        raise self._http.without_secrets(reply.fault)
                    if reply.complete:
                        return
                if chunks := reply.finish():
                    yield chunks
                if reply.fault is not None:
                    raise self._http.without_secrets(reply.fault)
        finally:
            if not reply.complete:
                await answer.aclose()

    async def close(self) -> None:
        """Close the connection, if there is one."""
        if "_http" in self.__dict__:
            await self._http.close()


@contextmanager
def _advised(if_unknown: str) -> Iterator[None]:
    """Add this to the fault of a server that does not know the address."""
    try:
        yield
    except ProviderFault as fault:
        if fault.status in UNKNOWN_ADDRESS and if_unknown:
            fault.add_advice(if_unknown)
        raise


def _http_for(profile: Profile) -> "Http":
    # Imported with the first request, because it is slow; without the garbage collector, because imports make no
    # garbage.
    collects = gc.isenabled()
    gc.disable()
    try:
        from robota.providers.http.client import Http
    finally:
        if collects:
            gc.enable()
    return Http(idle_timeout_s=profile.timeout, secrets=(profile.api_key or "",))


def _only_pings(seconds: float) -> ProviderFault:
    text = (
        f"The model server sent nothing of its reply for {seconds:g} s, only keep-alive signals. Retry, or "
        "raise the timeout of the provider profile."
    )
    return ProviderFault(FaultKind.STREAM_CUT, text, reason=f"nothing of the reply came for {seconds:g} s")


# The names under which servers announce the context window of a model.
WINDOW_FIELDS: Final = (
    "loaded_context_length",
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
    "inputTokenLimit",
)


class _Offered(msgspec.Struct, frozen=True):
    """A list of models, as OpenAI and Anthropic (`data`) or Google (`models`) send it."""

    data: tuple[dict[str, Any], ...] | msgspec.UnsetType | None = msgspec.UNSET
    models: tuple[dict[str, Any], ...] | msgspec.UnsetType | None = msgspec.UNSET


async def offered_models(profile: Profile, url: str, headers: Mapping[str, str]) -> list[OfferedModel]:
    """The models that a server lists, in its order; raises `ProviderFault`."""
    from robota.providers.wire.half_characters import decode_with_marks, without_marks

    http = _http_for(profile)
    try:
        body = await http.get(url, headers)
    finally:
        await http.close()
    try:
        offered = decode_with_marks(msgspec.json.Decoder(_Offered).decode, body)
        if offered.data is msgspec.UNSET and offered.models is msgspec.UNSET:
            raise msgspec.ValidationError("there is neither `data` nor `models`")
    except msgspec.DecodeError as error:
        message = (
            f"The server answers, but not with a list of models ({error}). Check the baseURL of the provider profile."
        )
        raise ProviderFault(FaultKind.INVALID_REQUEST, message) from error
    return [
        OfferedModel(name=name, context_window=_announced_window(entry))
        for entry in (*(offered.data or ()), *(offered.models or ()))
        if (name := without_marks(_name(entry)))
    ]


def _name(entry: Mapping[str, Any]) -> str:
    names = (entry.get("id"), entry.get("name"))
    return next((name.removeprefix("models/") for name in names if isinstance(name, str) and name), "")


def _announced_window(entry: Mapping[str, Any]) -> int | None:
    windows = (entry.get(field) for field in WINDOW_FIELDS)
    return next((window for window in windows if type(window) is int and 0 < window <= MAX_WINDOW), None)


async def post_once(profile: Profile, url: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """The whole answer to one request; raises `ProviderFault`."""
    http = _http_for(profile)
    try:
        answer = http.post_stream(url, {**headers, "content-type": "application/json"}, body)
        return b"".join([data async for data in answer])
    finally:
        await http.close()


async def probe_model(profile: Profile, url: str, headers: Mapping[str, str]) -> Probed:
    """Request the model of the profile from the server, to check address, key and model.

    Raises `ProviderFault` if the server is unusable.
    """
    http = _http_for(profile)
    try:
        await http.get(url, headers)
    except ProviderFault as fault:
        if fault.kind is not FaultKind.MODEL_NOT_FOUND:
            raise
        return Probed(text=f"The server answers, but does not know {profile.model}.", offers_model=False)
    finally:
        await http.close()
    return Probed(text=f"The server answers and offers {profile.model}.")

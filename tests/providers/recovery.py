"""Every way in which a server fails, and a provider that has to answer again after it."""

import asyncio
from collections.abc import Callable

import pytest

from robota.providers.chunks import Chunk, Provider
from robota.providers.fault import FaultKind, ProviderFault
from tests.fakellm.server import running
from tests.fakellm.shapes import HELLO
from tests.providers.conversing import reply_then_close, text_of, whole_reply

EVERY_FAULT = pytest.mark.parametrize(
    ("scenario", "kind"),
    [
        ("fault:400", FaultKind.INVALID_REQUEST),
        ("fault:401", FaultKind.AUTHENTICATION),
        ("fault:429", FaultKind.RATE_LIMIT),
        ("fault:500", FaultKind.SERVER),
        ("fault:503", FaultKind.OVERLOADED),
        ("fault:529", FaultKind.OVERLOADED),
        ("fault:cut", FaultKind.STREAM_CUT),
        ("fault:cutcall", FaultKind.STREAM_CUT),
        ("fault:eof", FaultKind.STREAM_CUT),
        ("fault:badsse", FaultKind.STREAM_CUT),
        ("fault:stall", FaultKind.STREAM_CUT),
    ],
)


def assert_answers_after(scenario: str, kind: FaultKind, provider_at: Callable[[str, float], Provider]) -> None:
    """The same provider, made for an address and a time-out, reports the fault and then gives a whole answer."""

    async def run(url: str) -> tuple[ProviderFault, list[Chunk]]:
        # Only a server that falls silent is waited for; every other fault must be seen however slow the machine is.
        provider = provider_at(url, 2.0 if scenario == "fault:stall" else 60.0)
        with pytest.raises(ProviderFault) as caught:
            await whole_reply(provider)
        return caught.value, await reply_then_close(provider)

    with running(scenario) as fake:
        fault, chunks = asyncio.run(run(fake.url))
    assert fault.kind is kind
    assert fault.retry_after_s == (1 if kind is FaultKind.RATE_LIMIT else None)
    assert text_of(chunks) == HELLO

"""Clients that come and go: each gets everything while it is there, and costs nothing afterwards."""

import asyncio
import gc
from weakref import ref

import pytest

from robota.engine.session.bus import EventBus
from robota.protocol.events import Notice
from robota.secrets.redaction import Redactor


def notice(text: str) -> Notice:
    return Notice(level="info", text=text)


def test_a_client_that_dropped_its_events_collects_none() -> None:
    bus = EventBus(Redactor())
    client = bus.subscribe(notice("first"))
    gone = ref(client)
    del client
    bus.emit(notice("second"))
    gc.collect()
    assert gone() is None


def test_a_client_that_closes_its_events_reads_no_more_and_the_others_go_on() -> None:
    async def story() -> None:
        bus = EventBus(Redactor())
        stays, leaves = bus.subscribe(notice("first")), bus.subscribe(notice("first"))
        await leaves.aclose()
        bus.emit(notice("second"))
        with pytest.raises(StopAsyncIteration):
            await anext(leaves)
        bus.close()
        assert [event async for event in stays] == [notice("first"), notice("second")]

    asyncio.run(story())

"""Clients that come and go: each gets everything while it is there, and costs nothing afterwards."""

import asyncio
import gc
from weakref import ref

import pytest

from robota.engine.record.journal import EventBus
from robota.protocol.events import Event, Notice, TextDelta
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


def events_of(*emitted: Event) -> list[Event]:
    """What a client reads that was busy while all of it was emitted."""

    async def story() -> list[Event]:
        bus = EventBus(Redactor())
        client = bus.subscribe()
        for event in emitted:
            bus.emit(event)
        bus.close()
        return [event async for event in client]

    return asyncio.run(story())


def delta(ts: int, text: str) -> TextDelta:
    return TextDelta(task_id="t", ts=ts, delta=text)


def test_a_slow_client_gets_the_deltas_of_one_row_in_one_piece() -> None:
    assert events_of(delta(1, "Hel"), delta(1, "lo")) == [delta(1, "Hello")]


def test_deltas_of_different_rows_stay_apart() -> None:
    apart = [delta(1, "one"), delta(2, "two"), delta(1, "more")]
    assert events_of(*apart) == apart

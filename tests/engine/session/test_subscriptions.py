"""Clients that come and go: each gets everything while it is there, and costs nothing afterwards."""

import asyncio
import gc
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.engine.record.journal import MAX_UNREAD_EVENTS, UNMEASURED_EVENTS, EventBus
from robota.protocol.events import Event, Notice, SubscriptionEnded, TextDelta
from robota.secrets.redaction import Redactor


def notice(text: str, seq: int = 0) -> Notice:
    return Notice(level="info", text=text, seq=seq)


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
        assert [event async for event in stays] == [notice("first"), notice("second", seq=1)]

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


def delta(ts: int, text: str, seq: int = 0) -> TextDelta:
    return TextDelta(task_id="t", ts=ts, delta=text, seq=seq)


def test_a_slow_client_gets_the_deltas_of_one_row_in_one_piece() -> None:
    assert events_of(delta(1, "Hel"), delta(1, "lo")) == [delta(1, "Hello", seq=2)]


def test_deltas_of_different_rows_stay_apart() -> None:
    apart = [delta(1, "one"), delta(2, "two"), delta(1, "more")]
    assert events_of(*apart) == [delta(1, "one", 1), delta(2, "two", 2), delta(1, "more", 3)]


def test_every_client_sees_the_same_number_for_the_same_event() -> None:
    async def story() -> None:
        bus = EventBus(Redactor())
        bus.emit(notice("nobody listens"))
        early = bus.subscribe(notice("opening"))
        bus.emit(notice("one"))
        late = bus.subscribe(notice("opening"))
        bus.emit(notice("two"))
        bus.close()
        assert [event.seq async for event in early] == [1, 2, 3]
        assert [event.seq async for event in late] == [2, 3]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("count", "text"), [(MAX_UNREAD_EVENTS + 1, "x"), (400, "x" * 500_000)], ids=["too many", "too large"]
)
def test_a_client_that_stops_reading_is_cut_off_and_harms_nobody(count: int, text: str) -> None:
    async def story() -> None:
        bus = EventBus(Redactor())
        stalled, attentive = bus.subscribe(notice("opening")), bus.subscribe()
        read = 0
        for _ in range(count):
            bus.emit(notice(text), is_clean=True)
            read += (await anext(attentive)).seq > 0
        assert read == count
        assert stalled.is_closed and stalled.unread_bytes == 0
        [last] = [event async for event in stalled]
        assert isinstance(last, SubscriptionEnded)
        assert 0 < last.unread <= MAX_UNREAD_EVENTS + 1 and "subscribe again" in last.reason
        again = bus.subscribe(notice("opening"))
        bus.emit(notice("it goes on"))
        assert [(await anext(again)).seq for _ in range(2)] == [count, count + 1]
        assert isinstance(await anext(attentive), Notice)

    asyncio.run(story())


def test_a_client_that_is_far_behind_but_reads_gets_everything() -> None:
    async def story() -> None:
        bus = EventBus(Redactor())
        behind = bus.subscribe()
        backlog = MAX_UNREAD_EVENTS // 2
        for _ in range(backlog):
            bus.emit(notice("x" * 1000), is_clean=True)
        for expected in range(1, 3 * backlog):
            bus.emit(notice("x" * 1000), is_clean=True)
            assert (await anext(behind)).seq == expected

    asyncio.run(story())


@given(st.lists(st.integers(0, 9), max_size=60))
def test_what_is_counted_as_unread_is_what_is_unread(reads: list[int]) -> None:
    """After each event, so many are read."""

    async def story() -> None:
        bus = EventBus(Redactor())
        client = bus.subscribe()
        unread = 0
        for count in reads:
            for _ in range(UNMEASURED_EVENTS // 2):
                bus.emit(notice("x" * 100), is_clean=True)
            unread += UNMEASURED_EVENTS // 2
            for _ in range(min(unread, count * 20)):
                await anext(client)
            unread -= min(unread, count * 20)
            assert client.unread_bytes >= 100 * max(0, unread - UNMEASURED_EVENTS)
            assert client.unread_bytes <= 200 * unread

    asyncio.run(story())

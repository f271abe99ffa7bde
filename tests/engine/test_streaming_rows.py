"""A row that streams is kept in the log now and then: a crash loses little of it, and the log does not fill up."""

import asyncio
import json
from pathlib import Path

from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.log.chain.reader import load
from robota.log.chain.writer import SessionLog
from robota.protocol.events import Event, MessageCreated
from robota.secrets.redaction import Redactor


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def logged_texts(log: SessionLog) -> list[str]:
    """The text of the row, each time that it was written."""
    payloads = (json.loads(bytes(record.payload)) for record in load(log.path).records if record.kind == "message")
    return [payload["message"]["text"] for payload in payloads]


def test_a_streaming_row_is_logged_at_most_twice_a_second(tmp_path: Path) -> None:
    clock, bus = Clock(), EventBus(Redactor())
    log = SessionLog.create(tmp_path / "session", lambda: 1)
    row = Rows("task", Journal(log, bus), bus, clock=clock).stream("text")
    row.append("a")
    for piece in "bcd":
        clock.now += 0.2
        row.append(piece)
    assert logged_texts(log) == ["a", "abcd"]
    clock.now += 0.4
    row.append("e")
    assert logged_texts(log) == ["a", "abcd"]
    clock.now += 0.2
    row.append("f")
    assert logged_texts(log) == ["a", "abcd", "abcdef"]
    row.finish()
    log.close()


def test_a_secret_that_the_log_does_not_know_is_covered_for_clients_all_the_same(tmp_path: Path) -> None:
    async def story() -> list[Event]:
        bus = EventBus(Redactor(["hunter2-hunter2"]))
        log = SessionLog.create(tmp_path / "session", lambda: 1)
        client = bus.subscribe()
        Rows("task", Journal(log, bus), bus).say("text", "It is hunter2-hunter2.")
        bus.close()
        log.close()
        return [event async for event in client]

    [created] = asyncio.run(story())
    assert isinstance(created, MessageCreated) and created.message.text == f"It is {'*' * 15}."

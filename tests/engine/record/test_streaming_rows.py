"""A row that streams is kept in the log now and then: a crash loses little of it, and the log does not fill up."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.log.chain.reader import load
from robota.log.chain.writer import SessionLog
from robota.log.replay.session import replay
from robota.protocol.events import Event, MessageCreated
from robota.secrets.redaction import Redactor
from tests.engine.stage import Stage, play


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

        self._due: list[tuple[float, Callable[[], None]]] = []

    def __call__(self) -> float:
        return self.now

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self._due.append((self.now + seconds, call))

    def pass_by(self, seconds: float) -> None:
        """Let time pass in which nothing else happens."""
        self.now += seconds
        due = [call for at, call in self._due if at <= self.now]
        self._due = [each for each in self._due if each[0] > self.now]
        for call in due:
            call()


def logged_texts(log: SessionLog) -> list[str]:
    """What the log would say of the row, each time that it was written."""
    records = load(log.path).records
    return [replay(records[: end + 1]).tasks["task"].messages[0].text or "" for end in range(len(records))]


def test_a_streaming_row_is_logged_at_most_twice_a_second(tmp_path: Path) -> None:
    clock, bus = Clock(), EventBus(Redactor())
    log = SessionLog.create(tmp_path / "session", lambda: 1)
    row = Rows("task", Journal(log, bus), bus, clock=clock, later=clock.later).stream("text")
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


def test_the_last_words_are_logged_although_nothing_follows_them(tmp_path: Path) -> None:
    clock, bus = Clock(), EventBus(Redactor())
    log = SessionLog.create(tmp_path / "session", lambda: 1)
    row = Rows("task", Journal(log, bus), bus, clock=clock, later=clock.later).stream("command_output")
    row.append("first")
    clock.now += 0.1
    row.append(", second")
    row.append(", third")
    assert logged_texts(log) == ["first"]
    clock.pass_by(0.5)
    assert logged_texts(log) == ["first", "first, second, third"]
    clock.pass_by(10)
    row.finish()
    clock.pass_by(10)
    assert logged_texts(log)[2:] == ["first, second, third"]
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


@pytest.mark.parametrize("answer", ["npm", "A", "x", "e", "sk-", "---", "gh"])
def test_an_answer_that_could_be_the_beginning_of_a_key_is_shown(answer: str, workspace: Path) -> None:
    """Text that may become a secret is held back, and shown when the answer ends."""

    async def story(stage: Stage) -> None:
        await stage.start("one word")
        await stage.until_ask("completion_result")
        [row] = [event.message for event in stage.events_of(MessageCreated) if event.message.partial is True]
        assert row.text == answer
        assert stage.says("text")[-1] == answer

    play(workspace, [{"text": answer}], story)


def test_the_log_of_a_streaming_row_grows_by_what_was_added(tmp_path: Path) -> None:
    """A long, slow answer takes a few times its length in the log, not the square of it."""
    clock, bus = Clock(), EventBus(Redactor())
    log = SessionLog.create(tmp_path / "session", lambda: 1)
    row = Rows("task", Journal(log, bus), bus, clock=clock, later=clock.later).stream("text")
    pieces = [f"{number:0999d}\n" for number in range(200)]
    for piece in pieces:
        clock.now += 1
        row.append(piece)
    interrupted = replay(load(log.path).records).tasks["task"].messages[0]
    assert interrupted.text == "".join(pieces) and interrupted.interrupted
    row.finish()
    log.close()
    assert replay(load(log.path).records).tasks["task"].messages[0].text == "".join(pieces)
    assert log.path.stat().st_size < 4 * len("".join(pieces))


def test_an_answer_without_an_end_is_stopped(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No server can make a session grow without limit."""
    monkeypatch.setattr("robota.engine.model.reply.REPLY_CHARACTERS", 10_000)

    async def story(stage: Stage) -> None:
        await stage.start("talk")
        ask = await stage.until_ask("api_req_failed")
        assert "10,000 characters" in (ask.text or "")
        assert ask.fault is not None and ask.fault.kind == "reply_too_long" and not ask.fault.retryable

    play(workspace, [{"text": "word " * 4_000}], story)


@pytest.mark.parametrize("arguments", [{"path": "a"}, ""], ids=["with arguments", "with nothing but a name"])
def test_calls_without_an_end_are_stopped(workspace: Path, arguments: object) -> None:
    """Each call costs far more than the characters that it is made of."""

    async def story(stage: Stage) -> None:
        await stage.start("talk")
        ask = await stage.until_ask("api_req_failed")
        assert "1,000 tool calls" in (ask.text or "")
        assert ask.fault is not None and ask.fault.kind == "reply_too_long" and not ask.fault.retryable

    play(workspace, [{"calls": [{"name": "read_file", "arguments": arguments}] * 1_001}], story)

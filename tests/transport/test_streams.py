"""The protocol over a byte stream, both ends, on real sockets."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator

from robota.protocol.commands import Accepted, CancelTask, Command, NewTask, QueueMessage, Receipt, Refused
from robota.protocol.connection.lines import MAX_LINE_BYTES, PROTOCOL, ServerHello
from robota.protocol.events import Event, Notice, SessionState, State, SubscriptionEnded, TextDelta
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.transport.lines import event_line, read_lines
from robota.transport.remote_session import NotConnected, RemoteSession
from robota.transport.served_stream import ServedStream

HELLO = ServerHello(protocol=PROTOCOL, version="1", session_id="s", cwd="/", pid=1, since_ms=0)
STATE = State(
    state=SessionState(session_id="s", cwd="/", model="m", mode="code", permission_mode=PermissionMode.DEFAULT)
)
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Echo:
    """A session that answers a task with events, and keeps a message waiting until it is cancelled."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Event | None] = asyncio.Queue()
        self.cancelled = asyncio.Event()

    async def submit(self, command: Command) -> Receipt:
        match command:
            case NewTask():
                for number, word in enumerate(command.text.split()):
                    self.sent.put_nowait(TextDelta(seq=number, task_id="t", ts=1, delta=word))
            case QueueMessage():
                await self.cancelled.wait()
            case CancelTask():
                self.cancelled.set()
            case _:
                return Refused(request_id=command.request_id, code="no", message="No.")
        return Accepted(request_id=command.request_id)

    async def events(self) -> AsyncIterator[Event]:
        yield STATE
        while (event := await self.sent.get()) is not None:
            yield event


async def connected() -> tuple[Stream, Stream]:
    here, there = socket.socketpair()
    return await asyncio.open_connection(sock=here), await asyncio.open_connection(sock=there)


def served(port: Echo, stream: Stream, hello: ServerHello = HELLO) -> "asyncio.Task[object]":
    return asyncio.create_task(ServedStream(port, *stream, hello=hello).run())


def test_a_session_elsewhere_is_used_like_one_in_this_process() -> None:
    async def story() -> None:
        here, there = await connected()
        port = Echo()
        serving, session = served(port, there), RemoteSession(*here)
        assert (await session.greet("test")).session_id == "s"
        events = session.events()
        assert (await anext(events)).__struct_config__.tag == "state"
        held = asyncio.create_task(session.submit(QueueMessage(text="held", request_id="mine")))
        assert await session.submit(NewTask(text="a b", request_id="7")) == Accepted(request_id="7")
        assert [event.delta async for event in _first(events, 2) if isinstance(event, TextDelta)] == ["a", "b"]
        assert not held.done()
        assert await session.submit(CancelTask()) == Accepted()
        assert await held == Accepted(request_id="mine")
        port.sent.put_nowait(None)
        await serving
        there[1].close()
        assert [event async for event in events] == []
        lost = await session.submit(CancelTask(request_id="late"))
        assert isinstance(lost, Refused) and (lost.code, lost.request_id) == ("connection_lost", "late")

    asyncio.run(story())


async def _first(events: AsyncIterator[Event], number: int) -> AsyncIterator[Event]:
    for _ in range(number):
        yield await anext(events)


def test_commands_that_wait_when_the_connection_breaks_are_told_so() -> None:
    async def story() -> None:
        here, there = await connected()
        served(Echo(), there)
        session = RemoteSession(*here)
        await session.greet("test")
        held = asyncio.create_task(session.submit(QueueMessage(text="held")))
        await session.submit(NewTask(text="x"))
        there[1].transport.abort()
        receipt = await held
        assert isinstance(receipt, Refused) and receipt.code == "connection_lost"

    asyncio.run(story())


def test_a_session_of_another_version_is_refused_in_plain_words() -> None:
    async def story() -> str:
        here, there = await connected()
        newer = ServerHello(protocol=PROTOCOL + 1, version="9.9", session_id="s", cwd="/", pid=1, since_ms=0)
        served(Echo(), there, newer)
        try:
            await RemoteSession(*here).greet("test")
        except NotConnected as problem:
            return str(problem)
        return ""

    assert "robota 9.9" in asyncio.run(story())


def test_a_line_that_is_too_long_is_refused_and_the_next_one_is_read() -> None:
    async def story() -> list[dict[str, object]]:
        here, there = await connected()
        served(Echo(), there)
        reader, writer = here

        async def send() -> None:
            for _ in range(MAX_LINE_BYTES // 2**20 + 1):
                writer.write(b"x" * 2**20)
                await writer.drain()
            writer.write(b'\n{"type":"ping","requestId":"1"}\n')

        sending = asyncio.create_task(send())
        lines = read_lines(reader)
        found = [json.loads(line) for line in [await anext(lines) for _ in range(3)] if isinstance(line, bytes)]
        await sending
        return found

    _, problem, receipt = asyncio.run(story())
    assert problem["code"] == "line_too_long" and "16 MB" in str(problem["message"])
    assert receipt == {"receipt": "accepted", "requestId": "1"}


def test_half_a_line_changes_nothing_and_ten_thousand_commands_get_their_receipts() -> None:
    async def story() -> None:
        here, there = await connected()
        serving = served(Echo(), there)
        reader, writer = here

        async def send() -> None:
            for number in range(10_000):
                writer.write(b'{"type":"retryNow","requestId":"%d"}\n' % number)
                await writer.drain()
            writer.write(b'{"type":"newTask","te')
            writer.write_eof()

        sending = asyncio.create_task(send())
        receipts = set()
        async for line in read_lines(reader):
            assert isinstance(line, bytes)
            read = json.loads(line)
            if "receipt" in read:
                receipts.add(read["requestId"])
            elif read["type"] == "error":
                assert read["code"] == "not_json"
                break
        await asyncio.gather(sending, serving)
        assert len(receipts) >= 10_000 - 64

    asyncio.run(story())


def test_a_client_that_was_cut_off_reads_why() -> None:
    async def story() -> list[str]:
        here, there = await connected()
        port = Echo()
        serving, session = served(port, there), RemoteSession(*here)
        await session.greet("test")
        port.sent.put_nowait(SubscriptionEnded(unread=3, reason="too slow"))
        port.sent.put_nowait(None)
        await serving
        there[1].close()
        return [str(event.__struct_config__.tag) async for event in session.events()]

    assert asyncio.run(story()) == ["state", "subscriptionEnded"]


def test_a_state_that_is_too_long_for_a_line_comes_with_fewer_rows_and_other_events_as_a_notice() -> None:
    rows = tuple(Message(ts=number, type="say", say="text", text="x" * 2**20) for number in range(40))
    state = State(
        state=SessionState(
            session_id="s", cwd="/", model="m", mode="code", permission_mode=PermissionMode.DEFAULT, cline_messages=rows
        )
    )
    sent = json.loads(event_line(state))["state"]
    assert len(sent["clineMessages"]) + sent["olderRows"] == 40 and sent["clineMessages"][-1]["ts"] == 39
    notice = json.loads(event_line(Notice(seq=5, level="info", text="y" * 2**25)))
    assert (notice["type"], notice["seq"]) == ("notice", 5) and "left out" in notice["text"]

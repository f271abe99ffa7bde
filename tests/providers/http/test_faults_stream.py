"""Replies that break off, fall silent or arrive in odd pieces, as a session lives through them."""

import asyncio
import json
from pathlib import Path

import pytest

from robota.protocol.events import RetryScheduled, TurnReply
from robota.providers.fault import FaultKind
from tests.engine.stage import Stage
from tests.providers.faulty import ANSWER, END, call, event, in_turn, live, sending, silent_after, text
from tests.providers.raw_server import STREAM_HEAD, Answering, RawServer, whole

HALF = STREAM_HEAD + text("Half an ans")
DANGER = '{"command":"touch danger"}'
BEGUN = STREAM_HEAD + call("execute_command", "", id="c1")


def reset(data: bytes) -> Answering:
    """Send this and cut the line, without the courtesy of an end."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.transport.abort()

    return answer


def kept(stage: Stage) -> list[str]:
    return [row.text or "" for row in stage.rows if row.say == "text" and row.interrupted]


async def answered(stage: Stage) -> list[str]:
    """Run to the end; the kinds of the faults that were retried on the way."""
    await stage.start()
    await stage.until_ask("completion_result")
    assert [reply.reply.text for reply in stage.events_of(TurnReply)] == [ANSWER]
    return [retry.error for retry in stage.events_of(RetryScheduled)]


@pytest.mark.parametrize(
    "answer", [reset(b""), sending(b""), sending(b"HTTP/1.1 200 OK\r\n"), sending(b"nonsense\r\n\r\n")]
)
def test_a_line_cut_before_the_answer_is_tried_again(workspace: Path, answer: Answering) -> None:
    async def story(stage: Stage, server: RawServer) -> None:
        assert await answered(stage) == [FaultKind.CONNECTION]
        assert len(server.requests) == 2

    live(workspace, in_turn(answer), story)


@pytest.mark.parametrize(
    "answer",
    [
        reset(HALF),
        sending(HALF),
        sending(HALF + b'data: {"choices": [{"delta": {oops\n\n'),
        sending(HALF + b"data: [1, 2]\n\n"),
        sending(HALF + b'data: {"error": {"message": "the GPU is on fire", "code": 500}}\n\n'),
    ],
    ids=["reset", "eof", "bad json", "bad shape", "error event"],
)
def test_a_reply_that_breaks_off_is_kept_as_far_as_it_came_and_asked_for_again(
    workspace: Path, answer: Answering
) -> None:
    """The partial text stays visible and marked; the answer is not duplicated."""

    async def story(stage: Stage, server: RawServer) -> None:
        (kind,) = await answered(stage)
        assert kind in (FaultKind.STREAM_CUT, FaultKind.SERVER)
        assert kept(stage) == ["Half an ans"]
        assert "Half an ans" in stage.opened.log.path.read_text()

    live(workspace, in_turn(answer), story)


def test_bytes_that_are_not_utf_8_are_replaced_and_the_answer_is_kept(workspace: Path) -> None:
    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert [reply.reply.text for reply in stage.events_of(TurnReply)] == ["Half an ans\N{REPLACEMENT CHARACTER}er"]
        assert len(server.requests) == 1

    damaged = b'data: {"choices":[{"delta":{"content":"\xffer"}}]}\n\n'
    live(workspace, in_turn(sending(HALF + damaged + END)), story)


@pytest.mark.parametrize(
    "begun",
    [BEGUN, BEGUN + call(None, '{"command":"tou'), BEGUN + call(None, DANGER)],
    ids=["after the name", "in mid-JSON", "before the end of the reply"],
)
@pytest.mark.parametrize("answering", [reset, sending], ids=["reset", "eof"])
def test_a_call_is_not_run_unless_its_reply_is_whole(workspace: Path, begun: bytes, answering: type) -> None:
    """The stream stops within the JSON of the arguments, or after the name of the tool."""

    async def story(stage: Stage, server: RawServer) -> None:
        assert await answered(stage) == [FaultKind.STREAM_CUT]
        assert not (workspace / "danger").exists()

    live(workspace, in_turn(answering(begun)), story, permission_mode="bypassPermissions")


def test_a_whole_call_is_run(workspace: Path) -> None:
    """So that the tests above mean something."""

    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert (workspace / "danger").exists()

    whole_call = BEGUN + call(None, DANGER) + event({}, "tool_calls") + b"data: [DONE]\n\n"
    live(workspace, in_turn(sending(whole_call)), story, permission_mode="bypassPermissions")


@pytest.mark.parametrize(
    ("data", "kind", "text_kept"),
    [
        (b"", FaultKind.CONNECTION, []),
        (STREAM_HEAD, FaultKind.STREAM_CUT, []),
        (HALF, FaultKind.STREAM_CUT, ["Half an ans"]),
    ],
    ids=["no head", "no reply", "in the reply"],
)
def test_a_server_that_falls_silent_is_given_up_after_the_time_limit(
    workspace: Path, data: bytes, kind: FaultKind, text_kept: list[str]
) -> None:
    """It sends nothing for longer than the idle timeout."""

    async def story(stage: Stage, server: RawServer) -> None:
        assert await answered(stage) == [kind]
        assert kept(stage) == text_kept

    live(workspace, in_turn(silent_after(data)), story, timeout=2)


def test_pings_keep_a_slow_reply_alive(workspace: Path) -> None:
    """Only pings arrive for much longer than the idle timeout."""

    async def pinging(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for _ in range(12):
            writer.write(b": ping\n\n")
            await writer.drain()
            await asyncio.sleep(0.2)
        writer.write(text(ANSWER) + END)
        await writer.drain()
        writer.close()

    async def story(stage: Stage, server: RawServer) -> None:
        assert await answered(stage) == []
        assert len(server.requests) == 1

    live(workspace, in_turn(pinging), story, timeout=1.5)


def test_pings_alone_do_not_keep_a_request_alive_for_ever(workspace: Path) -> None:
    """In print mode, nobody is there to stop it."""

    async def pinging(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        while not writer.is_closing():
            writer.write(b": ping\n\n")
            await writer.drain()
            await asyncio.sleep(0.05)

    async def story(stage: Stage, server: RawServer) -> None:
        assert await answered(stage) == [FaultKind.STREAM_CUT]
        assert len(server.requests) == 2

    live(workspace, in_turn(pinging), story, timeout=1)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_reply_cut_anywhere_arrives_exactly(workspace: Path, size: int) -> None:
    """Chunks end within UTF-8 sequences and within SSE lines."""
    reply = text(ANSWER) + END

    async def dribble(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for place in range(0, len(reply), size):
            writer.write(reply[place : place + size])
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    async def story(stage: Stage, server: RawServer) -> None:
        assert await answered(stage) == []

    live(workspace, in_turn(dribble), story)


def test_a_filtered_reply_is_not_asked_for_again(workspace: Path) -> None:
    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        ask = await stage.until_ask("api_req_failed")
        assert ask.fault is not None and ask.fault.kind == FaultKind.CONTENT_FILTER
        assert "Rephrase" in ask.fault.message and len(server.requests) == 1

    filtered = STREAM_HEAD + text("I can") + event({}, "content_filter") + b"data: [DONE]\n\n"
    live(workspace, in_turn(sending(filtered)), story)


def test_a_server_that_does_not_stream_is_understood(workspace: Path) -> None:
    async def story(stage: Stage, server: RawServer) -> None:
        assert await answered(stage) == []

    message = {"choices": [{"message": {"content": ANSWER}, "finish_reason": "stop"}]}
    live(workspace, in_turn(sending(whole("200 OK", json.dumps(message).encode()))), story)

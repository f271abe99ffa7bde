"""The whole provider against a server on loopback: dialect, faults, connection."""

import asyncio
import json

import pytest

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.providers.chunks import Chunk, TextChunk, UsageChunk
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.kinds.openai_compatible import DEFINITION, probe
from robota.providers.registry import create
from tests.fakellm.server import running
from tests.fakellm.shapes import HELLO
from tests.providers.conversing import (
    calling,
    calls_of,
    finish_of,
    provider_at,
    reply_then_close,
    request,
    result,
    text_of,
    user,
    whole_reply,
)
from tests.providers.raw_server import STREAM_HEAD, raw_server, whole
from tests.providers.recovery import EVERY_FAULT, assert_answers_after


def test_a_text_answer_with_usage() -> None:
    with running("hello") as fake:
        chunks = asyncio.run(reply_then_close(provider_at(fake.url, api_key="sk-1")))
        assert text_of(chunks) == HELLO
        assert finish_of(chunks) == "end_turn"
        usage = next(chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk))
        assert usage.input_tokens == len(fake.last_body) // 4
        assert fake.headers[0]["authorization"] == "Bearer sk-1"


def test_a_tool_loop_over_one_connection() -> None:
    async def run(url: str) -> list[tuple[str, str, str]]:
        provider = provider_at(url)
        first = await whole_reply(provider)
        ((call_id, name, arguments),) = calls_of(first)
        turns = (user("hello"), calling(name, json.loads(arguments), call_id, "Reading. "), result("text", call_id))
        second = await whole_reply(provider, request(*turns))
        await provider.close()
        assert text_of(second) == HELLO
        return calls_of(first)

    with running("loop:1") as fake:
        ((call_id, name, arguments),) = asyncio.run(run(fake.url))
        assert name == "read_file"
        assert json.loads(arguments)["path"].endswith("f0000.txt")
        roles = [message["role"] for message in json.loads(fake.last_body)["messages"]]
        assert roles == ["system", "user", "assistant", "tool"]
        assert fake.headers[0].get("authorization") is None
        assert call_id


@EVERY_FAULT
def test_after_every_fault_the_same_provider_answers_again(scenario: str, kind: FaultKind) -> None:
    assert_answers_after(scenario, kind, lambda url, timeout: provider_at(url, timeout=timeout))


def test_text_before_a_cut_is_given() -> None:
    async def run(url: str) -> str:
        provider, seen = provider_at(url), ""
        with pytest.raises(ProviderFault):
            async for batch in provider.stream(request()):
                seen += text_of(batch)
        await provider.close()
        return seen

    with running("fault:cut") as fake:
        assert asyncio.run(run(fake.url)) == "This is cut short he"


@pytest.mark.parametrize(
    ("scenario", "names", "reason"),
    [
        ("fault:empty", [], "end_turn"),
        ("fault:badjson", ["read_file"], "tool_use"),
        ("fault:badtool", ["no_such_tool"], "tool_use"),
        ("fault:parallel", ["read_file"] * 3, "tool_use"),
    ],
)
def test_odd_but_complete_replies_are_passed_on(scenario: str, names: list[str], reason: str) -> None:
    with running(scenario) as fake:
        chunks = asyncio.run(reply_then_close(provider_at(fake.url)))
    assert [name for _, name, _ in calls_of(chunks)] == names
    assert finish_of(chunks) == reason


def test_a_character_split_between_reads_arrives_whole() -> None:
    payload = 'data: {"choices":[{"delta":{"content":"größe 漢字 🎉"},"finish_reason":"stop"}]}\r\n\r\n'.encode()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for place in range(len(payload)):
            writer.write(payload[place : place + 1])
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    async def run() -> list[Chunk]:
        async with raw_server(answer) as server:
            return await reply_then_close(provider_at(server.url))

    assert text_of(asyncio.run(run())) == "größe 漢字 🎉"


def test_a_server_that_streams_nothing_although_asked() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(whole("200 OK", b'{"choices":[{"message":{"content":"plain"},"finish_reason":"stop"}]}'))

    async def run() -> list[Chunk]:
        async with raw_server(answer) as server:
            return await reply_then_close(provider_at(server.url))

    assert text_of(asyncio.run(run())) == "plain"


def test_a_server_that_keeps_the_line_open_after_the_end_does_not_hold_us_up() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + b'data: {"choices":[{"delta":{"content":"done"}}]}\n\ndata: [DONE]\n\n')
        await writer.drain()
        await asyncio.Event().wait()

    async def run() -> list[Chunk]:
        async with raw_server(answer) as server:
            return await reply_then_close(provider_at(server.url))

    assert text_of(asyncio.run(run())) == "done"


def test_the_connection_is_kept_between_streamed_replies() -> None:
    frame = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n'

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(frame), frame)
        )

    async def run() -> int:
        async with raw_server(answer) as server:
            provider = provider_at(server.url)
            for _ in range(10):
                assert text_of(await whole_reply(provider)) == "x"
            await provider.close()
            return server.connections

    assert asyncio.run(run()) == 1


def test_the_connection_is_kept_even_if_the_closing_bytes_come_after_the_reply() -> None:
    frame = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n'

    async def run() -> int:
        reply_was_read = asyncio.Event()

        async def answer(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(frame), frame))
            await writer.drain()
            await reply_was_read.wait()
            writer.write(b"0\r\n\r\n")

        async with raw_server(answer) as server:
            provider = provider_at(server.url)
            for _ in range(3):
                before = asyncio.all_tasks()
                assert text_of(await whole_reply(provider)) == "x"
                reply_was_read.set()
                reading = [task for task in asyncio.all_tasks() - before if "_exchange" in repr(task)]
                if reading:
                    await asyncio.wait(reading)
                reply_was_read.clear()
            await provider.close()
            return server.connections

    assert asyncio.run(run()) == 1


def test_closing_the_reply_drops_it_and_the_provider_goes_on() -> None:
    async def run(url: str) -> None:
        provider = provider_at(url, timeout=5)
        async for batch in provider.stream(request()):
            assert any(isinstance(chunk, TextChunk) for chunk in batch)
            break
        assert text_of(await reply_then_close(provider)) == HELLO

    with running("fault:stall") as fake:
        asyncio.run(run(fake.url))


@pytest.mark.parametrize("tail", ["/v1", "/v1/", "/v1/chat/completions", "/v1/chat/completions/"])
def test_base_urls_as_people_write_them(tail: str) -> None:
    profile = Profile(type="openai-compat", base_url="BASE", model="m")
    with running("hello") as fake:
        provider = create(Profile(type=profile.type, base_url=fake.url + tail, model="m"), {})
        asyncio.run(reply_then_close(provider))
        assert fake.records[0]["path"] == "/v1/chat/completions"


def test_the_probe_says_whether_the_model_is_there() -> None:
    with running("hello") as fake:
        here = Profile(type="openai-compatible", base_url=f"{fake.url}/v1", model="fake-model", api_key="sk-1")
        there = Profile(type="openai-compatible", base_url=f"{fake.url}/v1", model="other")
        assert "offers fake-model" in asyncio.run(probe(here)).text
        assert "not in its list" in asyncio.run(probe(there)).text
        assert fake.headers[0]["authorization"] == "Bearer sk-1"


def test_options_of_the_profile() -> None:
    options = {"contextWindow": 9000, "nativeTools": False, "headers": {"x-team": "7"}, "body": {"temperature": 0}}
    profile = Profile(type="openai-compatible", base_url="http://127.0.0.1:1", model="m", options=options)
    info = DEFINITION.model_info(profile)
    assert (info.context_window, info.native_tools) == (9000, False)
    with running("hello") as fake:
        asyncio.run(reply_then_close(provider_at(fake.url, options=options)))
        assert fake.headers[0]["x-team"] == "7"
        assert json.loads(fake.last_body)["temperature"] == 0
    with pytest.raises(ConfigError, match="contextWindow"):
        provider_at("http://127.0.0.1:1", options={"contextWindow": "big"})

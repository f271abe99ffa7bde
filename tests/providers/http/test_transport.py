"""Connections that are kept, and servers that do with them what servers do."""

import asyncio
import socket

import pytest

from robota.providers.fault import ProviderFault
from robota.providers.http.client import Http
from tests.providers.raw_server import STREAM_HEAD, Answering, raw_server, whole

GOOD = whole("200 OK", b"hello")


async def post(http: Http, url: str, body: bytes = b"{}") -> bytes:
    return b"".join([data async for data in http.post_stream(url, {}, body)])


def answering(data: bytes) -> Answering:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return answer


@pytest.mark.parametrize("unasked", [b"", b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"])
def test_a_connection_that_the_server_gave_up_meanwhile_is_not_used_again(unasked: bytes) -> None:
    """Whether it hangs up in silence or with a word: that word is no answer to the next request."""
    given_up = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(GOOD)
        await writer.drain()
        await given_up.wait()
        writer.write(unasked)
        writer.close()

    async def run() -> None:
        async with raw_server(answer) as server:
            http = Http()
            assert await post(http, server.url) == b"hello"
            given_up.set()
            await server.all_served()
            assert await post(http, server.url) == b"hello"
            await http.close()
            assert server.connections == 2

    asyncio.run(run())


def test_bytes_after_the_end_of_an_answer_do_not_answer_the_next_request() -> None:
    async def run() -> None:
        async with raw_server(answering(GOOD + whole("200 OK", b"smuggled"))) as server:
            http = Http()
            assert [await post(http, server.url) for _ in range(2)] == [b"hello", b"hello"]
            await http.close()
            assert server.connections == 2

    asyncio.run(run())


def test_an_answer_that_was_not_read_to_its_end_takes_its_connection_along() -> None:
    endless = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"

    async def run() -> None:
        async with raw_server(answering(endless)) as server:
            http = Http()
            for _ in range(2):
                answer = http.post_stream(server.url, {}, b"{}")
                assert await anext(answer) == b"hello"
                await answer.aclose()
            await http.close()
            assert server.connections == 2

    asyncio.run(run())


def test_requests_at_the_same_time_have_a_connection_each() -> None:
    async def run() -> None:
        async with raw_server(answering(GOOD)) as server:
            http = Http()
            assert await asyncio.gather(*(post(http, server.url) for _ in range(3))) == [b"hello"] * 3
            assert await post(http, server.url) == b"hello"
            await http.close()
            assert server.connections == 3

    asyncio.run(run())


def test_a_server_that_refuses_a_large_body_before_its_end_is_heard() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(whole("413 Payload Too Large", b"that is too much"))
        await writer.drain()
        while await reader.read(65_536):
            pass
        writer.close()

    async def run() -> ProviderFault:
        listener = await asyncio.start_server(refuse, "127.0.0.1", 0)
        http = Http()
        with pytest.raises(ProviderFault) as caught:
            await post(http, f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", b"x" * 10_000_000)
        await http.close()
        listener.close()
        return caught.value

    fault = asyncio.run(run())
    assert fault.status == 413 and "that is too much" in fault.message


def test_what_a_server_says_before_its_answer_is_passed_over() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"

    async def run() -> bytes:
        async with raw_server(answering(early + GOOD)) as server:
            http = Http()
            try:
                return await post(http, server.url)
            finally:
                await http.close()

    assert asyncio.run(run()) == b"hello"


def test_a_large_body_and_a_large_answer_pass_whole() -> None:
    many = bytes(range(256)) * 40_000

    async def run() -> None:
        async with raw_server(answering(STREAM_HEAD + many + b"\n")) as server:
            http = Http()
            answer = http.post_stream(server.url, {}, many)
            received = b""
            while len(received) < len(many) + 1:
                received += await anext(answer)
            await answer.aclose()
            await http.close()
            assert received == many + b"\n" and server.bodies == [many]

    asyncio.run(run())


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_of_version_6() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        writer.write(GOOD)
        await writer.drain()
        writer.close()

    async def run() -> bytes:
        try:
            listener = await asyncio.start_server(serve, "::1", 0)
        except OSError:
            pytest.skip("this machine has no IPv6")
        http = Http()
        try:
            return await post(http, f"http://[::1]:{listener.sockets[0].getsockname()[1]}")
        finally:
            await http.close()
            listener.close()

    assert asyncio.run(run()) == b"hello"

"""Network I/O against servers that misbehave on purpose."""

import asyncio
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.http.client import Http
from tests.providers.raw_server import STREAM_HEAD, raw_server, whole

KEY = "sk-very-secret"


async def post(http: Http, url: str) -> bytes:
    return b"".join([data async for data in http.post_stream(url, {"authorization": f"Bearer {KEY}"}, b"{}")])


async def fault_from(http: Http, url: str) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        await post(http, url)
    await http.close()
    return caught.value


def test_one_connection_serves_many_requests() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(whole("200 OK", b"hello"))

    async def run() -> None:
        async with raw_server(answer) as server:
            http = Http()
            for _ in range(5):
                assert await post(http, server.url) == b"hello"
            await http.close()
            assert server.connections == 1
            assert "user-agent: robota/" in server.requests[0].lower()

    asyncio.run(run())


def test_a_refusal_shows_the_servers_words_but_never_the_key() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        body = b'{"error": {"message": "Incorrect API key: sk-very-secret"}}'
        writer.write(whole("401 Unauthorized", body, "retry-after: 5"))

    async def run() -> ProviderFault:
        async with raw_server(answer) as server:
            return await fault_from(Http(secrets=(KEY,)), server.url)

    fault = asyncio.run(run())
    assert (fault.kind, fault.status, fault.retry_after_s) == (FaultKind.AUTHENTICATION, 401, 5)
    assert "Incorrect API key: ***" in fault.message
    assert KEY not in fault.message
    assert fault.__cause__ is None


def test_an_endless_error_body_is_not_read_to_its_end() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Oops\r\nconnection: close\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async def run() -> ProviderFault:
        async with raw_server(answer) as server:
            return await fault_from(Http(), server.url)

    fault = asyncio.run(run())
    assert fault.kind is FaultKind.SERVER
    assert len(fault.message) < 1000


def test_a_reset_before_the_answer_is_a_connection_fault() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async def run() -> ProviderFault:
        async with raw_server(answer) as server:
            return await fault_from(Http(), server.url)

    assert asyncio.run(run()).kind is FaultKind.CONNECTION


def test_what_came_before_a_reset_is_given_before_the_fault() -> None:
    seen = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
        await writer.drain()
        await seen.wait()
        writer.transport.abort()

    async def run() -> ProviderFault:
        async with raw_server(answer) as server:
            http = Http()
            answering = http.post_stream(server.url, {}, b"{}")
            assert await anext(answering) == b"hello"
            seen.set()
            with pytest.raises(ProviderFault) as caught:
                await anext(answering)
            await http.close()
            return caught.value

    fault = asyncio.run(run())
    assert fault.kind is FaultKind.STREAM_CUT
    assert fault.retryable


def test_silence_ends_a_request_before_and_inside_the_answer() -> None:
    async def run(head: bytes) -> ProviderFault:
        async def answer(writer: asyncio.StreamWriter) -> None:
            writer.write(head)
            await writer.drain()
            await asyncio.Event().wait()

        async with raw_server(answer) as server:
            return await fault_from(Http(idle_timeout_s=0.05), server.url)

    before, inside = asyncio.run(run(b"")), asyncio.run(run(STREAM_HEAD + b": ping\n\n"))
    assert (before.kind, inside.kind) == (FaultKind.CONNECTION, FaultKind.STREAM_CUT)
    assert "0.05 s" in before.message
    assert "0.05 s" in inside.message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_nobody_listens(host: str) -> None:
    """On this machine that is not retried for long: what was not started will not start by itself."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://user:pass@{host}:{taken.getsockname()[1]}/v1?key=hidden"
        fault = asyncio.run(fault_from(Http(), url))
    assert fault.kind is FaultKind.CONNECTION
    assert fault.most_retries == 2
    assert f"No model server listens at http://{host}" in fault.message and "robota --configure" in fault.message
    assert "pass" not in fault.message
    assert "hidden" not in fault.message


def test_nobody_listens_at_any_address_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where localhost is ::1 as well as 127.0.0.1, asyncio packs both refusals into one error without a number."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.1", "127.0.0.2")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: both)
        fault = asyncio.run(fault_from(Http(), f"http://localhost:{port}/v1"))
    assert fault.most_retries == 2
    assert "No model server listens at http://localhost" in fault.message


def test_a_name_that_cannot_be_looked_up_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directly and through a proxy, where libraries only say that all attempts failed."""

    def unknown(*arguments: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    for variable, name in (("UNUSED", "no-such-host.invalid"), ("HTTP_PROXY", "no-such-proxy.invalid")):
        monkeypatch.setenv(variable, f"http://me:pw-7@{name}:3128")
        fault = asyncio.run(fault_from(Http(), "http://no-such-host.invalid/v1"))
        assert fault.kind is FaultKind.CONNECTION and f"the name {name} cannot be looked up: Name or" in fault.message
        assert fault.reason in fault.message and "pw-7" not in fault.message


def test_a_refused_connection_through_a_proxy_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:pw-7@127.0.0.1:9")
    fault = asyncio.run(fault_from(Http(), "http://models.example/v1"))
    assert "through the proxy http://127.0.0.1:9: Connection refused" in fault.message and "pw-7" not in fault.message


@pytest.mark.parametrize("proxy", ["socks5://me:pw-7@127.0.0.1:9", "socks5h://127.0.0.1:9", "gopher://127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    """It is not reported as a bug of Robota."""
    monkeypatch.setenv("ALL_PROXY", proxy)
    fault = asyncio.run(fault_from(Http(), "http://models.example/v1"))
    assert fault.kind is FaultKind.INVALID_REQUEST and "pw-7" not in fault.message
    assert ("pip install 'robota[socks]'" in fault.message) is proxy.startswith("socks")
    assert "proxy" in fault.message


@pytest.mark.parametrize(
    "url",
    ["ftp://127.0.0.1/x", "not a url", "http://", "http://[::1", "http://127.0.0.1:99999999", "http://127.0.0.1:0"],
)
def test_an_address_that_makes_no_sense_is_not_tried_again(url: str) -> None:
    assert asyncio.run(fault_from(Http(), url)).kind is FaultKind.INVALID_REQUEST


def test_a_server_that_speaks_no_http() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 smtp ready\r\n\r\n")

    async def run() -> ProviderFault:
        async with raw_server(answer) as server:
            return await fault_from(Http(), server.url)

    assert asyncio.run(run()).kind is FaultKind.CONNECTION


def test_closing_an_answer_drops_the_request() -> None:
    gone = asyncio.Event()

    async def watch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(STREAM_HEAD + b"data: 1\n\n")
        await reader.read()
        writer.close()
        gone.set()

    async def run() -> None:
        listener = await asyncio.start_server(watch, "127.0.0.1", 0)
        http = Http()
        answering = http.post_stream(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", {}, b"{}")
        await anext(answering)
        await answering.aclose()
        await gone.wait()
        await http.close()
        listener.close()

    asyncio.run(run())


def test_a_proxy_is_used_for_the_world_and_never_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(whole("200 OK", b"hello"))

    async def run() -> list[str]:
        async with raw_server(answer) as proxy, raw_server(answer) as near:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            monkeypatch.delenv("NO_PROXY", raising=False)
            for url in ("http://models.example/v1", near.url):
                http = Http()
                assert await post(http, url) == b"hello"
                await http.close()
            assert len(near.requests) == 1
            return [head.split("\r\n")[0] for head in proxy.requests]

    assert asyncio.run(run()) == ["POST http://models.example/v1 HTTP/1.1"]


def test_a_certificate_is_checked_and_ssl_cert_file_is_honoured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = self_signed(tmp_path)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(whole("200 OK", b"hello"))

    async def run() -> ProviderFault:
        async with raw_server(answer, context) as server:
            monkeypatch.delenv("SSL_CERT_FILE", raising=False)
            fault = await fault_from(Http(), server.url)
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
            http = Http()
            assert await post(http, server.url) == b"hello"
            await http.close()
            return fault

    fault = asyncio.run(run())
    assert fault.kind is FaultKind.INVALID_REQUEST
    assert "SSL_CERT_FILE" in fault.message


def self_signed(directory: Path) -> ssl.SSLContext:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is needed to make a certificate")
    key, certificate = directory / "key.pem", directory / "cert.pem"
    options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, *options, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def test_a_slow_reader_gets_everything_in_order() -> None:
    size = 12 * 1024 * 1024

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + bytes(range(256)) * (size // 256))
        writer.close()

    async def run() -> None:
        async with raw_server(answer) as server:
            http = Http()
            received = await post(http, server.url)
            assert received == bytes(range(256)) * (size // 256)
            await http.close()

    asyncio.run(run())

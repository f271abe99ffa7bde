"""What the command itself does with a wrong key, a wrong model, a proxy, a private CA and a server that gives up."""

import asyncio
import contextlib
import json
import socket
import ssl
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.cli.scripts import write_settings
from tests.harness.cli import Finished, Robota
from tests.providers.faulty import ANSWER, GOOD, in_turn, sending, silent_after, status, text
from tests.providers.raw_server import STREAM_HEAD, Answering, RawServer, raw_server

KEY = "sk-very-secret-0123456789"
NAME = "models.example.test"
NO_MODEL = b'{"error":{"message":"The model `m` does not exist"}}'


def use(robota: Robota, url: str, **fields: Any) -> None:
    """Make a server the one that `robota` asks."""
    profile = {
        "type": "openai-compatible",
        "baseURL": f"{url}/v1",
        "model": "m",
        "apiKey": "$ENV:THE_KEY",
        "options": {"retry": {"baseMs": 1, "maxRetries": 2}},
        **fields,
    }
    write_settings(robota, {"currentProvider": "fake", "providers": {"fake": profile}})


def ask(robota: Robota, answering: Answering, *arguments: str, **fields: Any) -> tuple[Finished, RawServer]:
    """`robota -p` against a server on loopback."""

    async def run() -> tuple[Finished, RawServer]:
        async with raw_server(answering) as server:
            use(robota, server.url, **fields)
            return await asyncio.to_thread(robota, "-p", "hello", *arguments, env={"THE_KEY": KEY}), server

    return asyncio.run(run())


def events(*payloads: dict[str, Any]) -> Answering:
    return sending(STREAM_HEAD + b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in payloads))


REFUSALS: dict[str, list[dict[str, Any]]] = {
    "openai-compatible": [{"choices": [{"delta": {"refusal": "I will not."}, "finish_reason": "stop"}]}],
    "openai": [
        {"type": "response.refusal.delta", "delta": "I will not."},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "refusal"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ],
    "gemini": [{"candidates": [{"content": {"parts": [{"text": "I"}]}, "finishReason": "SAFETY"}]}],
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_of_the_model_is_the_same_error_in_every_dialect(robota: Robota, kind: str) -> None:
    done, server = ask(robota, events(*REFUSALS[kind]), type=kind)
    assert done.code == 4 and "Rephrase the request" in done.stderr, done
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answering", "code", "said", "requests"),
    [
        (status(401, b'{"error":{"message":"Incorrect API key provided"}}'), 4, "apiKey", 1),
        (status(404, NO_MODEL), 4, "--model", 1),
        (status(400, b'{"error":{"message":"prompt is too long"}}'), 4, "context window", 1),
        (status(500, b"down"), 75, "server", 3),
        (status(429, b"", "retry-after: 3600"), 75, "wait about 1 hour before", 1),
        (sending(STREAM_HEAD + text("Half an ans")), 75, "cut short", 3),
    ],
    ids=["key", "model", "too long", "down", "limit", "cut"],
)
def test_a_failure_for_good_has_a_code_and_a_sentence(
    robota: Robota, answering: Answering, code: int, said: str, requests: int
) -> None:
    done, server = ask(robota, answering)
    assert (done.code, len(server.requests)) == (code, requests), done.stderr
    assert said in done.stderr


def test_a_fallback_model_answers(robota: Robota) -> None:
    done, server = ask(robota, in_turn(status(404, NO_MODEL)), "--fallback-model", "second,third")
    assert done.code == 0 and done.stdout == f"{ANSWER}\n"
    assert [json.loads(body)["model"] for body in server.bodies] == ["m", "second"]
    assert "second" in done.stderr


def test_silence_ends_with_the_time_limit_of_the_profile(robota: Robota) -> None:
    done, _ = ask(robota, in_turn(silent_after(STREAM_HEAD)), timeout=2)
    assert (done.code, done.stdout) == (0, f"{ANSWER}\n")


@pytest.mark.parametrize(
    "echo",
    [
        status(401, f'{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}'.encode()),
        status(500, f"Traceback: headers = {{'authorization': 'Bearer {KEY}'}}".encode()),
        sending(STREAM_HEAD + text("Hm.") + f'data: {{"error":{{"message":"bad key {KEY}"}}}}\n\n'.encode()),
        sending(f"{KEY} is no HTTP\r\n\r\n".encode()),
    ],
    ids=["refusal", "crash page", "error in the stream", "nonsense"],
)
def test_a_key_that_the_server_echoes_is_shown_and_stored_nowhere(robota: Robota, echo: Answering) -> None:
    """No output, log or settings file contains it, and only the owner can read the files."""
    done, server = ask(robota, echo, "--output-format", "stream-json", "--verbose")
    assert done.code in (4, 75) and f"authorization: Bearer {KEY}" in server.requests[0].replace(
        "Authorization", "authorization"
    )
    assert KEY not in done.stdout + done.stderr
    written = [path for root in (robota.workspace, robota.home) for path in root.rglob("*") if path.is_file()]
    logs = [path for path in written if path.name == "log.jsonl"]
    assert len(logs) == 1 and stat.S_IMODE(logs[0].stat().st_mode) == 0o600
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []


def test_a_proxy_is_used_and_resolves_the_name(robota: Robota) -> None:
    """The name exists nowhere; the guard of the tests would refuse to look it up."""

    async def run() -> tuple[Finished, list[str]]:
        async with raw_server(sending(GOOD)) as proxy:
            use(robota, f"http://{NAME}")
            env = {"THE_KEY": KEY, "HTTP_PROXY": proxy.url, "http_proxy": proxy.url}
            return await asyncio.to_thread(robota, "-p", "hello", env=env), proxy.requests

    done, requests = asyncio.run(run())
    assert (done.code, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    assert requests[0].startswith(f"POST http://{NAME}/v1/chat/completions ")


def test_a_server_on_this_machine_is_not_asked_through_a_proxy(robota: Robota) -> None:
    async def run() -> tuple[Finished, list[str]]:
        async with raw_server(status(502, b"the proxy")) as proxy, raw_server(sending(GOOD)) as server:
            use(robota, server.url)
            env = {"THE_KEY": KEY, "HTTP_PROXY": proxy.url, "ALL_PROXY": proxy.url}
            return await asyncio.to_thread(robota, "-p", "hello", env=env), proxy.requests

    done, requests = asyncio.run(run())
    assert (done.code, requests) == (0, []), done.stderr


def test_a_private_ca_is_trusted_if_it_is_named_and_not_otherwise(robota: Robota, tmp_path: Path) -> None:
    ca, tls = certified("127.0.0.1", tmp_path)

    async def run(env: dict[str, str]) -> Finished:
        async with raw_server(sending(GOOD), tls) as server:
            use(robota, server.url)
            return await asyncio.to_thread(robota, "-p", "hello", env={"THE_KEY": KEY, **env})

    refused = asyncio.run(run({}))
    assert refused.code == 4 and "SSL_CERT_FILE" in refused.stderr
    trusted = asyncio.run(run({"SSL_CERT_FILE": str(ca)}))
    assert (trusted.code, trusted.stdout) == (0, f"{ANSWER}\n"), trusted.stderr


def test_a_tunnel_through_a_proxy_to_a_server_with_a_private_ca(robota: Robota, tmp_path: Path) -> None:
    ca, tls = certified(NAME, tmp_path)

    async def run() -> tuple[Finished, list[str]]:
        async with raw_server(sending(GOOD), tls) as server, tunnelling_proxy(server.url) as (url, asked):
            use(robota, f"https://{NAME}")
            env = {"THE_KEY": KEY, "HTTPS_PROXY": url, "SSL_CERT_FILE": str(ca)}
            return await asyncio.to_thread(robota, "-p", "hello", env=env), asked

    done, asked = asyncio.run(run())
    assert (done.code, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    assert asked[0].startswith(f"CONNECT {NAME}:443 ") and KEY not in "".join(asked)


def certified(host: str, directory: Path) -> tuple[Path, ssl.SSLContext]:
    """The file of a new CA, and TLS with a certificate of it."""
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(host).configure_cert(context)
    file = directory / "ca.pem"
    ca.cert_pem.write_to_path(str(file))
    return file, context


@contextlib.asynccontextmanager
async def tunnelling_proxy(target: str) -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy whose tunnels all lead to one server, whatever name was asked for."""
    asked: list[str] = []
    port = int(target.rpartition(":")[2])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", asked


async def pump(source: asyncio.StreamReader, drain: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(65536):
            drain.write(data)
            await drain.drain()
    drain.close()


def test_a_local_server_that_is_not_running_is_said_soon_and_how_to_start_it(robota: Robota) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        use(robota, f"http://127.0.0.1:{taken.getsockname()[1]}", options={"retry": {"baseMs": 1, "maxRetries": 8}})
        done = robota("-p", "hello", "--output-format", "stream-json", "--verbose", env={"THE_KEY": KEY})
    assert done.code == 75
    retries = [line for line in map(json.loads, done.stdout.splitlines()) if line.get("subtype") == "api_retry"]
    assert [(retry["attempt"], retry["max_retries"]) for retry in retries] == [(1, 2), (2, 2)]
    assert "No model server listens at http://127.0.0.1" in done.stdout

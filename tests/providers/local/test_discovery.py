"""Model servers of this machine are found by asking, and nothing else that listens is taken for one."""

import asyncio
import socket
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from robota.config.profiles.profile import Profile
from robota.providers.definition import ProviderDefinition
from robota.providers.local.discovery import FoundServer, discover, find_servers
from robota.providers.registry import create, definition, definitions
from tests.fakellm.server import running
from tests.providers.conversing import reply_then_close, request, text_of
from tests.providers.raw_server import raw_server, whole


def at(type: str, url: str) -> ProviderDefinition:
    """The definition of a type as if its usual address were this one."""
    return replace(definition(type), local_address=f"{url}/v1")


def test_the_types_that_can_be_found_have_an_address_on_loopback() -> None:
    found = {kind.type: kind.local_address for kind in definitions() if kind.local_address}
    assert found == {
        "ollama": "http://localhost:11434/v1",
        "lmstudio": "http://localhost:1234/v1",
        "llamacpp": "http://localhost:8080/v1",
    }


def test_what_is_found_works_as_it_is() -> None:
    with running("hello") as fake:
        (found,) = asyncio.run(find_servers([at("ollama", fake.url), definition("groq")]))
        assert found == FoundServer(type="ollama", base_url=f"{fake.url}/v1", models=("fake-model",))
        profile = Profile(type=found.type, base_url=found.base_url, model=found.models[0])
        assert text_of(asyncio.run(reply_then_close(create(profile, {}), request())))


@pytest.mark.parametrize(
    "answer",
    [
        whole("200 OK", b"<html>a web page</html>"),
        whole("200 OK", b'{"hello": "world"}'),
        whole("200 OK", b"[]"),
        whole("404 Not FoundServer", b"nothing here"),
        whole("401 Unauthorized", b"{}"),
        b"SSH-2.0-OpenSSH_9\r\n",
        b"",
    ],
)
def test_somebody_else_on_the_port_is_not_a_model_server(answer: bytes) -> None:
    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    async def run() -> Sequence[FoundServer]:
        async with raw_server(reply) as server:
            return await find_servers([at("llamacpp", server.url)])

    assert asyncio.run(run()) == []


def test_one_that_never_answers_hides_no_other() -> None:
    async def silence(writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def run(url: str) -> Sequence[FoundServer]:
        async with raw_server(silence) as server:
            return await find_servers([at("lmstudio", server.url), at("ollama", url)], timeout_s=0.5)

    with running("hello") as fake:
        assert [found.type for found in asyncio.run(run(fake.url))] == ["ollama"]


def test_nobody_there_is_no_error() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    assert asyncio.run(find_servers([at("ollama", f"http://127.0.0.1:{port}")])) == []
    assert isinstance(discover(), Sequence)

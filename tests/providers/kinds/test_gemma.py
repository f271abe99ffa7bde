"""Gemma's channels and textual calls, whatever way the text is cut."""

import asyncio
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.config.profiles.profile import Profile
from robota.providers.chunks import Chunk, ThinkingChunk
from robota.providers.registry import create
from robota.providers.wire.gemma.call import QUOTES, GemmaCall, parse_call
from robota.providers.wire.gemma.text import GemmaAnswer, GemmaParser, GemmaPiece, GemmaThought
from tests.providers.conversing import READ_FILE, calls_of, finish_of, reply_then_close, request, text_of
from tests.providers.raw_server import STREAM_HEAD, raw_server

CALL = '<|tool_call>call:read_file{path:<|"|>a.txt<|"|>}<tool_call|>'
OFFERED = ("read_file", "search")
MARKS = ("call:read_file", "<|tool_call>", "<tool_call|>", "<|channel>", "<channel|>", "thought\n")
STORY = f"<|channel>thought\nWhat now?<channel|>I look. {CALL}Done.<turn|>"
TOLD = [
    GemmaThought("What now?"),
    GemmaAnswer("I look. "),
    GemmaCall("read_file", {"path": "a.txt"}),
    GemmaAnswer("Done."),
]


def read(*texts: str) -> list[GemmaPiece]:
    """All pieces, neighbours of one kind joined."""
    reader = GemmaParser(OFFERED)
    joined: list[GemmaPiece] = []
    for piece in [*(piece for text in texts for piece in reader.feed(text)), *reader.finish()]:
        last = joined[-1] if joined else None
        if isinstance(piece, GemmaAnswer) and isinstance(last, GemmaAnswer):
            joined[-1] = GemmaAnswer(last.text + piece.text)
        elif isinstance(piece, GemmaThought) and isinstance(last, GemmaThought):
            joined[-1] = GemmaThought(last.text + piece.text)
        else:
            joined.append(piece)
    return joined


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Plain.", [GemmaAnswer("Plain.")]),
        (STORY, TOLD),
        ("<|channel>thought\nhidden<channel|>Visible", [GemmaThought("hidden"), GemmaAnswer("Visible")]),
        ("<|channel>thought\n<channel|>Visible", [GemmaAnswer("Visible")]),
        ("<|channel>hidden<channel|>Visible", [GemmaThought("hidden"), GemmaAnswer("Visible")]),
        ("<|channel>final\nVisible<channel|>!", [GemmaAnswer("Visible!")]),
        ("<|channel>thought\nnever closed", [GemmaThought("never closed")]),
        ("a < b <| c <|chan", [GemmaAnswer("a < b <| c <|chan")]),
        ("<start_function_call>call:search{q:<escape>x<escape>}<end_function_call>", [GemmaCall("search", {"q": "x"})]),
        # A server that swallows the closing mark gives a whole call all the same.
        ('<|tool_call>call:search{q:<|"|>x<|"|>}', [GemmaCall("search", {"q": "x"})]),
    ],
)
def test_what_a_user_sees_and_what_not(text: str, pieces: list[GemmaPiece]) -> None:
    assert read(text) == pieces


@pytest.mark.parametrize(
    "text",
    [
        "<|tool_call>call:rm_rf{path:1}<tool_call|>",
        "<|tool_call>call:read_file{path:<tool_call|>",
        '<|tool_call>call:read_file{path:<|"|>half',
        "<|tool_call>call:read_file{path:1} and more<tool_call|>",
        "<|tool_call>nonsense<tool_call|>",
    ],
)
def test_a_call_that_was_not_offered_or_is_not_whole_stays_text(text: str) -> None:
    assert read(text) == [GemmaAnswer(text)]


def test_marks_inside_a_quoted_value_are_content() -> None:
    content = "Gemma closes with <tool_call|> and thinks in <|channel>thought"
    text = f'<|tool_call>call:read_file{{path:<|"|>{content}<|"|>}}<tool_call|>'
    assert read(text) == [GemmaCall("read_file", {"path": content})]


@given(st.lists(st.integers(0, len(STORY)), max_size=12))
def test_any_cut_of_the_text_gives_the_same(cuts: list[int]) -> None:
    places = sorted({0, len(STORY), *cuts})
    assert read(*(STORY[a:b] for a, b in itertools.pairwise(places))) == TOLD


@given(st.lists(st.sampled_from([*'<|>{}:,"x \n', *QUOTES, *MARKS])))
def test_whatever_comes_cutting_it_changes_nothing(parts: list[str]) -> None:
    assert read(*parts) == read("".join(parts)) == read(*"".join(parts))


def written(value: Any, quote: str) -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{written(item, quote)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(item, quote) for item in value) + "]"
    return json.dumps(value)


TEXTS = st.text().filter(lambda text: not any(mark in f"{text}" for mark in ("<|", "<esc", "|>", "cape>")))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), VALUES), st.sampled_from(QUOTES))
def test_arguments_are_read_as_they_were_written(arguments: dict[str, Any], quote: str) -> None:
    assert parse_call(f"call:read_file{written(arguments, quote)}") == GemmaCall("read_file", arguments)


@given(st.text(alphabet='call:x{}[]<|">,1 ', max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    parse_call(text)
    parse_call("call:f{" + text)


def test_a_call_nested_too_deep_is_no_call() -> None:
    assert parse_call("call:f{a:" + "[" * 10_000 + "]" * 10_000 + "}") is None


def answer_of(type: str, *deltas: str) -> list[Chunk]:
    """The reply of a provider to a server that streams these pieces of text."""
    events = [{"choices": [{"delta": {"content": text}}]} for text in deltas]
    frames = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + frames + b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()

    async def run() -> list[Chunk]:
        async with raw_server(answer) as server:
            provider = create(Profile(type=type, base_url=f"{server.url}/v1", model="m"), {})
            return await reply_then_close(provider, request(tools=(READ_FILE,)))

    return asyncio.run(run())


def test_a_gemma_profile_turns_channels_into_thoughts_and_text_into_calls() -> None:
    chunks = answer_of("gemma", "<|cha", "nnel>thought\nhid", "den<channel|>Here: ", CALL[:20], CALL[20:])
    assert text_of(chunks) == "Here: "
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == "hidden"
    assert calls_of(chunks) == [("", "read_file", '{"path":"a.txt"}')]
    assert finish_of(chunks) == "tool_use"


@pytest.mark.parametrize("type", ["openai-compatible", "lmstudio"])
def test_other_types_stay_neutral(type: str) -> None:
    assert text_of(answer_of(type, STORY)) == STORY

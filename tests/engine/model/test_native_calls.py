"""Calls from function calling, put together from pieces."""

import json
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.engine.model.reply import CallAssembler, FirstArgument
from robota.providers.chunks import CallArgumentsChunk, CallStartChunk


def assembler() -> CallAssembler:
    return CallAssembler(f"call_{n}" for n in count(1))


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.none(), max_size=4), st.data())
def test_arguments_cut_anywhere_come_out_whole(arguments: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(arguments)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    calls = assembler()
    draft = calls.start(CallStartChunk(index=0, id="x", name="tool"))
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        calls.feed(CallArgumentsChunk(index=0, json=text[start:end]))
    assert draft.finish().input == arguments


@pytest.mark.parametrize(
    ("pieces", "first"),
    [
        (['{"path": "a', '.txt", "content": "x'], "a.txt"),
        (['{"path": "a\\', '"b"'], 'a"b'),
        (['{"n": 12', ', "x": 1}'], "12"),
        (['{"n": true}'], "true"),
        (["{}"], None),
        (['{"list": [1, 2], "b": 1}'], None),
        (['{"path": "unfinished'], None),
    ],
)
def test_the_first_argument_is_known_early_and_told_once(pieces: list[str], first: str | None) -> None:
    reader = FirstArgument()
    found = [value for value in map(reader.feed, pieces) if value is not None]
    assert found == ([] if first is None else [first])


def test_a_late_name_and_a_repeated_start_are_understood() -> None:
    calls = assembler()
    draft = calls.start(CallStartChunk(index=0, id="a", name=""))
    calls.feed(CallArgumentsChunk(index=0, json='{"p"'))
    assert calls.start(CallStartChunk(index=0, id="a", name="read_file")) is draft
    calls.feed(CallArgumentsChunk(index=0, json=": 1}"))
    call = draft.finish()
    assert (call.name, call.input, call.problem) == ("read_file", {"p": 1}, None)


def test_ids_are_safe_unique_and_never_missing() -> None:
    calls = assembler()
    given_ids = ["a b/c", "a b/c", "", "x" * 99]
    ids = [calls.start(CallStartChunk(index=n, id=id, name="t")).id for n, id in enumerate(given_ids)]
    assert ids[0] == "a_b_c" and len(set(ids)) == 4 and all(0 < len(id) <= 64 for id in ids)


def test_arguments_without_a_start_are_a_call_without_a_name() -> None:
    calls = assembler()
    draft, _ = calls.feed(CallArgumentsChunk(index=3, json="{}"))
    assert draft.finish().problem == "The call names no tool. Make it again with the name of a tool."


def test_no_arguments_are_an_empty_object() -> None:
    assert assembler().start(CallStartChunk(index=0, id="a", name="t")).finish().input == {}

"""What steers a terminal is spelled out; text, colours and the meaning of JSON stay."""

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.text.steering import spelled_steering

STEERING = "\x00\x07\x08\x0b\x0c\r\x1b\x7f\x85\x9b\x9d\u202a\u202e\u2066\u2069\ud800\udfff\U000e0041"


@pytest.mark.parametrize(
    "sequence", ["\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\x1b[8m", "\x1b[30m", "\x1b[1;8m", "\x1b]8;;x\x1b\\", "\r"]
)
def test_a_sequence_is_text(sequence: str) -> None:
    spelled = spelled_steering(f"a{sequence}b")
    assert spelled.isprintable() and spelled.startswith("a\\u00")


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred\x1b[0m", "\x1b[1;32mbold\x1b[m", "\x1b[3;49mcode\x1b[0m", "a\tb\n", "a\r\nb\r\n", "한국어 é 🙂"],
)
def test_text_and_the_colours_of_ours_stay(text: str) -> None:
    assert spelled_steering(text) == text


@given(st.text(alphabet=st.one_of(st.sampled_from(STEERING + "\n\t[]0m;31"), st.characters())))
def test_nothing_is_left_that_steers(text: str) -> None:
    left = re.sub(r"\x1b\[[0-9;]*m", "", spelled_steering(text)).replace("\r\n", "\n")
    categories = {unicodedata.category(character) for character in left if character not in "\n\t"}
    assert categories.isdisjoint({"Cc", "Cs"}) and set(STEERING).isdisjoint(left)


@given(st.dictionaries(st.text(), st.text(alphabet=st.one_of(st.sampled_from(STEERING), st.characters()))))
def test_json_says_the_same(value: dict[str, str]) -> None:
    assert json.loads(spelled_steering(json.dumps(value, ensure_ascii=False))) == value

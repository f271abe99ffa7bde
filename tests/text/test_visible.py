"""What is shown of a text that somebody else wrote, by the contract of each function."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.text.visible import (
    first_unprintable,
    printable_name,
    single_line,
    visible,
    visible_with_warnings,
    without_controls,
    without_surrogates,
)

UNSEEN = (
    "\x00\x07\x1b\x7f\x9b\u00ad\u200b\u200d\u200e\u202e\u2066\u2028"
    "\u3000\u3164\u034f\ufe0f\ufeff\U000e0041\U000e0100\udc80"
    "\U0001d159\U00016fe4\ufffc\u2d7f\U0001107f\U0001bc9d"
)
HOSTILE = st.text(st.one_of(st.sampled_from(UNSEEN + "\n\t \\‹›U+"), st.characters()))
NO_TEXT = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Default_Ignorable_Code_Point of Unicode 16: shown as nothing by programs that do not know them.
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
# Words in the names of characters that have no shape of their own, and those characters that have one in spite of them.
SHAPELESS = re.compile(r"\b(?:BLANK|FILLER|IGNORABLE|INHERENT|INVISIBLE|(?:NON|SUB|CON)?JOINER|NULL|SELECTOR|OBJECT)\b")
WITH_A_SHAPE = re.compile(r"SYMBOL FOR|BLANK SYMBOL|GAP FILLER|LINE FILLER|\bSIGN OBJECT|OBJECT IDENTIFIER")


@pytest.mark.parametrize("character", UNSEEN)
def test_what_shows_as_nothing_is_spelt_out(character: str) -> None:
    assert visible(f"a{character}b") == f"a‹U+{ord(character):04X}›b"
    assert f"U+{ord(character):04X}" in visible_with_warnings(f"a{character}b").warnings[0]


def test_every_code_point_that_is_shown_as_nothing_is_spelt_out() -> None:
    ignorable = {code for first, last in IGNORABLE for code in range(first, last + 1)}
    left = []
    for code in range(0x110000):
        character = chr(code)
        name = unicodedata.name(character, "")
        is_shapeless = SHAPELESS.search(name) and not WITH_A_SHAPE.search(name)
        is_space = unicodedata.category(character) == "Zs" and character != " "
        if (code in ignorable or is_shapeless or is_space) and visible(character) == character:
            left.append(f"U+{code:04X} {name}")
    assert left == []


def test_letters_with_marks_are_left_alone() -> None:
    text = "é ñ Å ß क्ष ខ្មែរ မြန်မာ עִבְרִית العربية 漢字 😀 ½ ﷽ e\u0301"
    assert visible(text) == text


@given(HOSTILE)
def test_nothing_unseen_is_left_in_a_visible_text(text: str) -> None:
    once = visible(text)
    assert not [each for each in once if unicodedata.category(each) in NO_TEXT and each not in "\n\t"]
    assert not set(once) & set(UNSEEN)
    assert visible(once) == once
    assert "\n" not in visible(text, frozenset("\t"))
    assert first_unprintable(once) is None


@given(HOSTILE)
def test_a_name_and_a_line_are_printable(text: str) -> None:
    name, line = printable_name(text), single_line(text, 10)
    assert name.isprintable() and line.isprintable() and len(line) <= 11
    assert printable_name(name) == name and single_line(line, 10) == line
    assert (name == text) == text.isprintable()


@given(HOSTILE)
def test_a_terminal_gets_no_control_and_no_bidi_override(text: str) -> None:
    shown = without_controls(text)
    forbidden = {each for each in shown if unicodedata.category(each) == "Cc"} - {"\n", "\t"}
    assert not forbidden and not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\U000e0041")
    assert without_controls(shown) == shown


@given(HOSTILE)
def test_text_without_surrogates_can_be_encoded(text: str) -> None:
    mended = without_surrogates(text)
    mended.encode()
    assert without_surrogates(mended) == mended


def test_bytes_of_a_name_that_are_no_text_are_shown_as_bytes() -> None:
    assert printable_name("caf\udce9\n.txt") == r"caf\xe9\n.txt"
    assert printable_name("café ❤\ufe0f.txt") == "café ❤\ufe0f.txt"

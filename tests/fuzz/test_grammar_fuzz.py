"""No text makes the grammar of bash, which is native code, crash, grow or hang.

`make fuzz FUZZ=--grammar` tries more of them.
"""

import os
import signal

import pytest

from robota.workspace.shell.grammar import commands_within, in_ascii, skeletons
from tests.fuzz.grammar_fuzz import Finding, Slowest, try_round

TEXTS = 600


@pytest.mark.parametrize("seed", range(4))
def test_made_up_texts_neither_crash_the_grammar_nor_keep_it_busy(seed: int) -> None:
    outcome = try_round(seed, TEXTS)
    assert isinstance(outcome, Slowest), outcome


@pytest.mark.parametrize(
    "text",
    [
        "{\U00100000..2}",
        "{1..\U00100000}",
        "{\ud800..2}",
        "{\x80..2}" * 100,
        "cat <<" + "A" * 1_016 + "\nx\n",
        "cat " + "<<''" * 300,
        "a=(" * 600,
    ],
)
def test_what_crashed_the_grammar_once_is_read(text: str) -> None:
    skeletons(text)
    commands_within(text)


def test_the_grammar_is_given_ascii_only() -> None:
    """Its scanner looks characters up in a table of 256 and does not ask whether they are in it."""
    every = "".join(map(chr, (*range(0x80, 0x3000, 7), 0xD800, 0xDFFF, 0xFFFF, 0x100000, 0x10FFFF)))
    assert in_ascii(every) == "x" * len(every)
    assert in_ascii("".join(map(chr, range(128)))) == "".join(map(chr, range(128)))


def test_a_child_that_is_killed_leaves_the_text_behind() -> None:
    def dies(text: str) -> None:
        if "(" in text:
            os.kill(os.getpid(), signal.SIGSEGV)

    outcome = try_round(1, 50, dies)
    assert isinstance(outcome, Finding) and "(" in outcome.text and "signal 11" in outcome.what


def test_a_text_that_raises_or_takes_all_memory_is_found() -> None:
    def fills(text: str) -> None:
        bytearray(3 * 1024**3)

    outcome = try_round(1, 50, fills)
    assert isinstance(outcome, Finding) and "memory" in outcome.what

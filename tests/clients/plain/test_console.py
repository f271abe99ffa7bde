"""What is typed at a real terminal, as the conversation gets it."""

import asyncio
import io
import os
import pty
from collections.abc import Awaitable, Callable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from robota.clients.plain.console import PASTE_PAUSE_S, Console
from robota.clients.plain.line_editor import LineEditor
from robota.clients.terminal.keys import Key, KeyDecoder, KeyPress, PastedText, TypedText
from robota.clients.terminal.line_writer import LineWriter

Scene = Callable[[Console, int], Awaitable[None]]


def at_terminal(scene: Scene) -> list[str | None]:
    """Play a scene with a console and the other end of its terminal; what came while nobody waited."""
    ours, theirs = pty.openpty()
    idle: list[str | None] = []

    async def play() -> None:
        console = Console(theirs, LineEditor(LineWriter(io.StringIO())), idle.append)
        with console.reading():
            await scene(console, ours)

    try:
        asyncio.run(play())
    finally:
        os.close(ours)
        os.close(theirs)
    return idle


def test_a_paste_whose_last_line_has_no_end_waits_for_enter() -> None:
    async def scene(console: Console, keyboard: int) -> None:
        waiting = asyncio.create_task(console.typed())
        os.write(keyboard, b"one\ntwo\nthr")
        done, _ = await asyncio.wait([waiting], timeout=10 * PASTE_PAUSE_S)
        assert not done
        os.write(keyboard, b"ee\n")
        assert await waiting == "one\ntwo\nthree"

    assert at_terminal(scene) == []


def test_what_is_typed_after_a_half_typed_line_was_forgotten_is_whole() -> None:
    async def scene(console: Console, keyboard: int) -> None:
        os.write(keyboard, "half é".encode())
        assert console.forget() == "half é"
        assert console.forget() == ""
        os.write(keyboard, b"yes\n")
        assert await console.typed() == "yes"

    assert at_terminal(scene) == []


def test_the_end_comes_after_the_last_lines() -> None:
    async def scene(console: Console, keyboard: int) -> None:
        os.write(keyboard, b"last\n\x04")
        assert await console.typed() == "last"
        assert await console.typed() is None

    at_terminal(scene)


def test_an_escape_by_itself_is_dropped_and_what_follows_is_not() -> None:
    keys = KeyDecoder()
    assert keys.feed(b"\x1b") == []
    keys.drop_unfinished()
    assert keys.feed(b"hello\r") == [TypedText("hello"), Key.ENTER]


@given(st.lists(st.integers(0, 60), max_size=8))
def test_however_the_bytes_are_cut_the_keys_are_the_same(cuts: list[int]) -> None:
    data = "한 a\x1b[A\x1b[1;5Cb\x1bOPc\t\x7f\r\nd\x1b[200~x\r\ny\x1b[31mz\x1b[201~\x1b\re".encode()
    whole = KeyDecoder().feed(data)
    keys = KeyDecoder()
    places = sorted({0, len(data), *cuts})
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert joined([press for piece in pieces for press in keys.feed(piece)]) == joined(whole)
    assert PastedText("x\nyz") in whole and Key.NEW_LINE in whole


def joined(presses: list[KeyPress]) -> list[KeyPress]:
    """With texts that follow one another as one."""
    told: list[KeyPress] = []
    for press in presses:
        last = told[-1] if told else None
        if isinstance(press, TypedText) and isinstance(last, TypedText):
            told[-1] = TypedText(last.text + press.text)
        else:
            told.append(press)
    return told

"""What is typed at a real terminal, as the conversation gets it."""

import asyncio
import os
import pty
from collections.abc import Awaitable, Callable

from robota.clients.plain.console import PASTE_PAUSE_S, Console

Scene = Callable[[Console, int], Awaitable[None]]


def at_terminal(scene: Scene) -> list[str | None]:
    """Play a scene with a console and the other end of its terminal; what came while nobody waited."""
    ours, theirs = pty.openpty()
    idle: list[str | None] = []

    async def play() -> None:
        console = Console(theirs, idle.append)
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
        echo = b""
        while echo != "half é".encode():  # then the terminal has it
            echo += os.read(keyboard, 100)
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

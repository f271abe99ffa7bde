"""A program that is spoken with in lines: bounded in what it can send, and gone when it should be."""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from robota.workspace.outside_program import ProgramStart
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.line_process import LAST_WORDS_BYTES, MAX_LINE_BYTES, LineProcess


def started(*argv: str, **environment: str) -> ProgramStart:
    return ProgramStart(argv=argv, workspace=Path("/no/workspace"), cwd=Path("/"), env=environment)


def talk(program: str, story: Callable[[LineProcess], Awaitable[None]], **environment: str) -> None:
    """Start a small Python program, do something with it, and stop it."""

    async def run() -> None:
        process = LineProcess(started(sys.executable, "-c", program, **environment))
        try:
            await story(process)
        finally:
            await process.stop()
            await process.stop()

    asyncio.run(run())


async def all_lines(process: LineProcess) -> list[bytes]:
    return [line async for line in process.lines()]


def test_lines_go_both_ways_whatever_their_size() -> None:
    async def story(process: LineProcess) -> None:
        words = [b"short", b"", b"x" * 1_000_000]
        for word in words:
            await process.write_line(word)
        lines = process.lines()
        assert [await anext(lines) for _ in words] == words

    talk("import sys\nfor line in sys.stdin: sys.stdout.write(line); sys.stdout.flush()", story)


def test_a_line_without_end_ends_the_conversation() -> None:
    async def story(process: LineProcess) -> None:
        assert await all_lines(process) == [b"fine"]
        assert process.is_silent and await process.how_it_ended() == "it sent a line of more than 16 MiB"

    program = f"import sys\nprint('fine')\nwhile True: sys.stdout.write('x' * {MAX_LINE_BYTES >> 4})"
    talk(program, story)


def test_only_the_end_of_standard_error_is_kept() -> None:
    async def story(process: LineProcess) -> None:
        assert await all_lines(process) == [b"ready"]
        assert await process.how_it_ended() == "it ended with exit code 7"
        await process.stop()
        assert process.last_words.endswith("the end") and len(process.last_words) == LAST_WORDS_BYTES

    flood = "import os\nfor _ in range(1000): os.write(2, b'x' * 65536)\nos.write(2, b'the end')\n"
    talk(flood + "print('ready')\nexit(7)", story)


def test_secrets_stay_here_but_for_those_that_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "abc")
    monkeypatch.setenv("MY_COLOUR", "red")

    async def story(process: LineProcess) -> None:
        assert await all_lines(process) == [b"None red given"]

    names = "('MY_SECRET', 'MY_COLOUR', 'OWN_TOKEN')"
    talk(f"import os\nprint(*(os.environ.get(name) for name in {names}))", story, OWN_TOKEN="given")


def test_who_does_not_listen_cannot_block_the_end() -> None:
    async def story(process: LineProcess) -> None:
        writing = asyncio.create_task(process.write_line(b"x" * 10_000_000))
        lines = process.lines()
        assert await anext(lines) == b"deaf"
        writing.cancel()

    talk("import signal\nprint('deaf', flush=True)\nsignal.signal(15, signal.SIG_IGN)\nsignal.pause()", story)


def test_a_program_that_is_not_there_is_named() -> None:
    async def start() -> None:
        with pytest.raises(CommandNotStarted, match=r"'/no/such' could not be started: No such file"):
            LineProcess(started("/no/such"))
        with pytest.raises(CommandNotStarted, match="embedded null byte"):
            LineProcess(started("true", "a\0b"))

    asyncio.run(start())


def test_nothing_stays_open() -> None:
    async def story(process: LineProcess) -> None:
        await process.write_line(b"hello")
        assert await anext(process.lines()) == b"hello"

    before = open_descriptors()
    for _ in range(3):
        talk("print(input())", story)
    assert open_descriptors() == before


def open_descriptors() -> int:
    gc.collect()  # closes what earlier tests left to the collector
    return sum(1 for _ in Path("/proc/self/fd").iterdir())

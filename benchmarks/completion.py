"""Completing file names while they are typed, in a workspace of 100,000 files."""

import asyncio
import statistics
import time
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from robota.commands.completion.mention_words import MentionWords
from robota.protocol.completion import PromptCompletion
from robota.workspace.files.files import LocalFiles
from robota.workspace.search.file_list import FileList

DIRECTORIES = 1_000
FILES_IN_EACH = 100
WORDS = ("session", "command", "request", "handler", "policy", "render", "parser", "client", "server", "widget")
# Each is typed letter by letter: a name, a path, scattered letters, something that is nowhere.
TYPED = ("handler_7", "area3/part", "sssnhdlr", "zqxwvu")
TARGET_MS = 50.0
LOOP_STEP_S = 0.001


def completion(bench: Bench) -> list[Measurement]:
    first, keys, delays = asyncio.run(typed(wide_tree(bench.home.parent / "wide")))
    slowest = f"slowest {max(keys):.0f} ms of {len(keys)} keys"
    return [
        _milliseconds("first @ word in 100,000 files: something is offered", first, "while the files are being listed"),
        _milliseconds("each key of an @ word, 100,000 files", statistics.median(keys), f"median; {slowest}"),
        _milliseconds("the event loop waits meanwhile", max(delays), "longest, files being listed or matched"),
    ]


async def typed(root: Path) -> tuple[float, list[float], list[float]]:
    """How long the first answer took, every further one, and how long the event loop was held meanwhile."""
    words = MentionWords(LocalFiles(root), FileList(root), lambda typed: {})
    delays: list[float] = []
    watch = asyncio.create_task(watch_loop(delays))
    first, offered = await answer(words, "@")
    while not offered.is_complete:
        _, offered = await answer(words, "@")
    keys = [(await answer(words, f"@{text[:length]}"))[0] for text in TYPED for length in range(1, len(text) + 1)]
    watch.cancel()
    return first, keys, delays


async def answer(words: MentionWords, text: str) -> tuple[float, PromptCompletion]:
    start = time.perf_counter()
    found = await words.complete(text, len(text), 50)
    assert found is not None
    return (time.perf_counter() - start) * 1000, found


async def watch_loop(delays: list[float]) -> None:
    while True:
        start = time.perf_counter()
        await asyncio.sleep(LOOP_STEP_S)
        delays.append((time.perf_counter() - start - LOOP_STEP_S) * 1000)


def wide_tree(root: Path) -> Path:
    for directory in range(DIRECTORIES):
        place = root / f"area{directory % 20}" / f"part{directory}"
        place.mkdir(parents=True)
        for file in range(FILES_IN_EACH):
            first, second = WORDS[file % 10], WORDS[file // 10]
            (place / f"{first}_{second}_{directory}.py").touch()
    return root


def _milliseconds(name: str, value: float, detail: str) -> Measurement:
    return Measurement(name=name, value=value, target=TARGET_MS, unit="ms", detail=detail)

"""Kill a process at any point (`kill -9`) and go on: nothing is missing, and no provider would refuse what is sent."""

import random
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from tests.fuzz.kill.stories import STORIES, Story
from tests.harness.cli import Robota


def kill_and_go_on(story: Story, points: int) -> str:
    """Kill the process at one of its points, which the seed chooses. Says what it was killed in."""
    with story.stack:
        ended = story.run(random.Random(story.seed).randrange(1, points + 1))
        return story.check(ended) if ended.is_killed else "nothing: it came to its end"


def count_points(story: Story) -> int:
    """How many points the process has if it comes to its end."""
    with story.stack:
        return story.run(0).points


def search_kills(count: int, seed: int) -> int:
    """Kill `count` processes, each in a place of its own; the exit code tells whether one of them could not go on."""
    killed: Counter[str] = Counter()
    failures = 0
    for number in range(seed, seed + count):
        kind = STORIES[number % len(STORIES)]
        try:
            killed[in_new_place(kind, number, int(in_new_place(kind, number, None)))] += 1
        except Exception:  # noqa: BLE001 - every point is tried
            failures += 1
            print(f"seed {number}, {kind.__name__}:\n{traceback.format_exc(limit=-2)}", flush=True)
    print(f"{count} processes were killed, {failures} of them left something wrong. Killed in: {dict(killed)}.")
    return 1 if failures else 0


def in_new_place(kind: type[Story], seed: int, points: int | None) -> str:
    with tempfile.TemporaryDirectory(prefix="robota-kill-") as place:
        workspace, home = Path(place, "workspace"), Path(place, "home")
        workspace.mkdir()
        home.mkdir()
        story = kind(Robota(workspace, home), seed)
        return str(count_points(story)) if points is None else kill_and_go_on(story, points)

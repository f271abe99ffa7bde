"""`kill -9` at random points: every session can be resumed. `make fuzz FUZZ="--kills 200"` tries more points."""

import pytest

from tests.fuzz.kill.killing import kill_and_go_on
from tests.fuzz.kill.stories import Condensing, Indexing, Restoring, Story, Waiting, Working
from tests.fuzz.kill.strict_server import problem_with
from tests.harness.cli import Robota

CASES = [
    (Working, 600),
    (Working, 600),
    (Waiting, 40),
    (Restoring, 60),
    (Restoring, 60),
    (Indexing, 60),
    (Condensing, 70),
]


@pytest.mark.parametrize("seed", range(len(CASES)))
def test_what_was_killed_anywhere_goes_on(robota: Robota, seed: int) -> None:
    kind, points = CASES[seed]
    story: Story = kind(robota, seed)
    kill_and_go_on(story, points)


def test_the_strict_server_would_notice() -> None:
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}]}
    told = {"role": "user", "content": "go"}
    result = {"role": "tool", "tool_call_id": "a", "content": "x"}
    assert problem_with([told, call, result]) is None
    assert problem_with([told, call, told]) is not None
    assert problem_with([told, result]) is not None
    assert problem_with([told, call, result, call, result]) is not None
    assert problem_with([told, call]) is not None

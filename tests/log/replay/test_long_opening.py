"""Opening a long session costs what its end costs, in processor time, which other programs hardly change."""

import time
from pathlib import Path

import pytest

from robota.log.chain.reader import LOG_NAME
from robota.log.reopening import reopen_session
from robota.log.replay.tail import tail_of
from tests.log.catalogue.logs import Clock, Written

MESSAGES = 16_000
WORDS = "what somebody said in one of many messages " * 60
LIMIT_S = 0.2


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("long")
    written = Written(root, "long")
    for number in range(MESSAGES // 2):
        written.prompt(f"{number} {WORDS}").reply(WORDS)
        if number % 400 == 399:
            written.condense()
    written.reply("the last words").end()
    Written(root, "empty").end()
    return root


def cpu_s(place: Path, name: str) -> float:
    directory, took = place / ".robota/sessions" / name, []
    for _ in range(3):
        before = time.process_time()
        taken_up = reopen_session(directory, place / "user", Clock())
        took.append(time.process_time() - before)
        taken_up.log.close()
    return min(took)


def test_a_long_session_takes_hardly_more_than_an_empty_one(place: Path) -> None:
    reopen_session(place / ".robota/sessions/long", place / "user", Clock()).log.close()  # makes the snapshot
    assert cpu_s(place, "long") - cpu_s(place, "empty") < LIMIT_S


def test_its_end_is_known_without_a_snapshot(place: Path) -> None:
    before = time.process_time()
    tail = tail_of(place / ".robota/sessions/long" / LOG_NAME)
    assert time.process_time() - before < LIMIT_S
    assert tail.session.root is not None and tail.session.root.messages[-1].text == "the last words"

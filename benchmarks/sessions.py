"""The log and the sessions of a machine, each measured at two sizes ten times apart, so that growth shows."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from robota.log.catalogue.catalogue import CataloguedSession, catalogue
from robota.log.catalogue.places import project_places
from robota.log.chain.reader import LOG_NAME, load
from robota.log.chain.writer import SessionLog, wall_clock_ms
from robota.log.kinds.conversation import MessageRecord
from robota.log.reopening import reopen_session
from robota.log.replay.session import replay
from robota.log.replay.tail import tail_of
from robota.log.search.search import SearchQuery, search
from robota.log.snapshot_keeper import SNAPSHOTS
from robota.protocol.message import Message
from tests.log.catalogue.logs import Written

ROUNDS = 7
FEW, MANY = 100, 1_000
SHORT, LONG, VERY_LONG = 1_000, 10_000, 100_000
TURNS = 8
ROW = "a row of a conversation, of which there are many in a long session " * 4


def sessions(bench: Bench) -> list[Measurement]:
    """Appending and opening one log; listing and searching many."""
    place = bench.home.parent / "sessions-bench"
    user = place / "user"
    small, large = (_library(place / f"of-{count}", count) for count in (FEW, MANY))
    empty, short, long, very_long = (_log(place / f"log-{rows}", rows) for rows in (0, SHORT, LONG, VERY_LONG))
    nothing, much, more = (_resume_again(each, user) for each in (empty, long, very_long))
    measured = [
        _grown("append a record", _append(short), _append(long), 1.5, f"{SHORT:,} and {LONG:,} records in the log"),
        _grown("open a session", _open(short), _open(long), 15, f"{SHORT:,} and {LONG:,} records"),
        _grown(
            "take up a session, no snapshot",
            _resume_anew(short, user),
            _resume_anew(long, user),
            15,
            f"{SHORT:,} and {LONG:,} records",
        ),
        _grown("take up a session", much, more, 2, f"{LONG:,} and {VERY_LONG:,} records"),
        Measurement(
            name=f"take up {VERY_LONG:,} records, more than none",
            value=(more - nothing) * 1000,
            target=200,
            unit="ms",
            detail=f"{more * 1000:.1f} and {nothing * 1000:.1f} ms",
        ),
        Measurement(
            name=f"show the end of {VERY_LONG:,} records, no snapshot",
            value=_best(lambda: tail_of(very_long / LOG_NAME)) * 1000,
            target=200,
            unit="ms",
            detail="before the log is read as a whole",
        ),
        _grown("list, index new", _first(small, user), _first(large, user), 15, f"{FEW} and {MANY:,} sessions"),
        _grown("list", _list(small, user), _list(large, user), 15, f"{FEW} and {MANY:,} sessions"),
        _grown("search a rare word", _search(small, user, "w77"), _search(large, user, "w77"), 15, "sessions likewise"),
        _grown(
            "search a common word", _search(small, user, "row"), _search(large, user, "row"), 15, "sessions likewise"
        ),
    ]
    shutil.rmtree(place)
    return measured


def _grown(name: str, small: float, large: float, target: float, detail: str) -> Measurement:
    """How many times longer the tenfold took; the times themselves stand in the detail."""
    told = f"{small * 1000:.3f} and {large * 1000:.3f} ms for {detail}"
    return Measurement(name=f"{name}, ten times as much", value=large / small, target=target, unit="x", detail=told)


def _library(root: Path, count: int) -> Path:
    for number in range(count):
        written = Written(root, f"s{number:05d}")
        for turn in range(TURNS):
            written.prompt(f"question {turn} about w{number}").reply(ROW)
            written.call("execute_command", {"command": f"make part{turn}"}, ROW * 4)
        written.end()
    return root


def _log(root: Path, rows: int) -> Path:
    written = Written(root, "one")
    for _ in range(rows):
        written.row(say="text", text=ROW)
    written.end()
    return written.directory


def _best(work: Callable[[], object]) -> float:
    """The shortest of some rounds: what the work takes when nothing else is in the way."""
    took = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took)


def _append(directory: Path) -> float:
    log, _ = SessionLog.open(directory, wall_clock_ms)
    record = MessageRecord(task_id="t", message=Message(ts=1, type="say", say="text", text=ROW))

    def hundred() -> None:
        for _ in range(100):
            log.append(record)

    took = _best(hundred) / 100
    log.close()
    return took


def _open(directory: Path) -> float:
    return _best(lambda: replay(load(directory / LOG_NAME).records))


def _resume_again(directory: Path, user: Path) -> float:
    """The log opened for writing, repaired if need be, and what it says: from a snapshot on, if it is long."""
    reopen_session(directory, user, wall_clock_ms).log.close()
    return _best(lambda: reopen_session(directory, user, wall_clock_ms).log.close())


def _resume_anew(directory: Path, user: Path) -> float:
    """The same when there is no snapshot: the whole log is read."""

    def anew() -> None:
        shutil.rmtree(user / SNAPSHOTS, ignore_errors=True)
        reopen_session(directory, user, wall_clock_ms).log.close()

    return _best(anew)


def _first(root: Path, user: Path) -> float:
    """The list when there is no index: every log is read."""
    start = time.perf_counter()
    _list_once(root, user)
    return time.perf_counter() - start


def _list(root: Path, user: Path) -> float:
    return _best(lambda: _list_once(root, user))


def _search(root: Path, user: Path, words: str) -> float:
    """As `robota sessions search` does it: the list, what is new in the logs, the search."""

    def once() -> None:
        found = search(_list_once(root, user), SearchQuery(words=words), user, print)
        assert found, os.fspath(root)

    once()
    return _best(once)


def _list_once(root: Path, user: Path) -> tuple[CataloguedSession, ...]:
    return catalogue(project_places(root, user), user, print)

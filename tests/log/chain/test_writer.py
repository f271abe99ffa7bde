"""Writing a log: one writer, safe on a full disk, in order whatever the clock says."""

import asyncio
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.log.chain.reader import load
from robota.log.chain.verify import verify
from robota.log.chain.writer import SessionLog
from robota.log.errors import ArtifactMissing, LogExists, LogInUse, LogUnreadable, LogWriteError
from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.session import EndRecord, RepairRecord, TaskRecord
from robota.log.record import payload_of
from robota.protocol.message import Message


def end(number: int) -> EndRecord:
    return EndRecord(task_id=f"task {number}", outcome="done")


def now() -> int:
    return 5_000


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "one"


@pytest.fixture
def log(directory: Path) -> Iterator[SessionLog]:
    log = SessionLog.create(directory, now)
    yield log
    log.close()


def test_only_the_owner_can_read_a_session(log: SessionLog, directory: Path) -> None:
    name = log.keep(b"big")
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (directory, log.path, directory / "artifacts" / name)}
    assert modes == {directory: 0o700, log.path: 0o600, directory / "artifacts" / name: 0o600}


def test_an_existing_session_is_not_overwritten(log: SessionLog, directory: Path) -> None:
    log.append(end(1))
    log.close()
    with pytest.raises(LogExists, match="not changed"):
        SessionLog.create(directory, now)
    reopened, loaded = SessionLog.open(directory, now)
    reopened.close()
    assert len(loaded.records) == 1


def test_a_directory_that_holds_something_else_is_no_place_for_a_session(directory: Path) -> None:
    directory.mkdir(parents=True)
    (directory / "notes").write_text("mine")
    with pytest.raises(LogExists, match="not changed"):
        SessionLog.create(directory, now)


def test_an_end_that_cannot_be_repaired_leaves_the_log_as_it_was_and_free(log: SessionLog, directory: Path) -> None:
    log.append(end(1))
    log.close()
    damaged = log.path.read_bytes() + b"half a rec"
    log.path.write_bytes(damaged)
    (directory / "torn-2").mkdir()
    with pytest.raises(LogWriteError, match=r"could not be repaired.*not changed"):
        SessionLog.open(directory, now)
    assert log.path.read_bytes() == damaged
    (directory / "torn-2").rmdir()
    repaired, _ = SessionLog.open(directory, now)
    repaired.close()
    assert verify(log.path).broken is None


def test_refused_writers_leave_no_descriptor_open(log: SessionLog, directory: Path, tmp_path: Path) -> None:
    """A service that tries again and again must not run out of them."""
    pipe = tmp_path / "pipe"
    pipe.mkdir()
    os.mkfifo(pipe / "log.jsonl")
    opened = descriptors()
    with pytest.raises(LogInUse):
        SessionLog.open(directory, now)
    with pytest.raises(LogUnreadable):
        SessionLog.open(pipe, now)
    with pytest.raises(LogUnreadable):
        load(pipe / "log.jsonl")
    assert descriptors() == opened


def test_a_second_process_is_refused_and_changes_nothing(log: SessionLog, directory: Path) -> None:
    log.append(end(1))
    before = log.path.read_bytes()
    script = (
        "import sys; from pathlib import Path\n"
        "from robota.log.errors import LogInUse; from robota.log.chain.writer import SessionLog\n"
        "for start in (SessionLog.open, SessionLog.create):\n"
        "    try: start(Path(sys.argv[1]), lambda: 1)\n"
        "    except LogInUse as error: print(error)\n"
    )
    command = [sys.executable, "-c", script, str(directory)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert outcome.stdout.count(f"is open in process {os.getpid()}") == 2
    assert outcome.stdout.count("Nothing was changed.") == 2
    assert log.path.read_bytes() == before
    log.close()
    reopened, _ = SessionLog.open(directory, now)
    reopened.close()


def test_a_second_writer_in_the_same_process_is_refused(log: SessionLog, directory: Path) -> None:
    with pytest.raises(LogInUse):
        SessionLog.open(directory, now)


def test_timestamps_grow_when_the_clock_jumps_back(directory: Path) -> None:
    """By an hour, or to 1970."""
    times = iter([1_000, 1_000, 1_000 - 3_600_000, 0, 2_000])
    log = SessionLog.create(directory, lambda: next(times))
    log.append(end(1))
    identity = log.next_ts()
    for number in (2, 3, 4):
        log.append(end(number))
    log.close()
    assert identity == 1_001
    assert [record.ts for record in load(log.path).records] == [1_000, 1_002, 1_003, 2_000]


def test_a_reopened_log_goes_on_in_sequence_time_and_chain(log: SessionLog, directory: Path) -> None:
    log.append(end(1))
    log.close()
    again, loaded = SessionLog.open(directory, lambda: 0)
    assert len(loaded.records) == 1
    assert again.append(end(2)).seq == 2
    again.close()
    assert [record.ts for record in load(log.path).records] == [5_000, 5_001]
    assert verify(log.path).broken is None


@pytest.mark.parametrize("tail", [b'{"seq":2,"ts', b"\0" * 100, b"garbage\nmore garbage\n", b"\xff\n\xff"])
def test_a_damaged_end_is_put_aside_and_the_chain_verifies(log: SessionLog, directory: Path, tail: bytes) -> None:
    log.append(end(1))
    log.close()
    with log.path.open("ab") as stream:
        stream.write(tail)
    again, loaded = SessionLog.open(directory, now)
    again.append(end(3))
    again.close()
    assert loaded.problems
    assert (directory / "torn-2").read_bytes() == tail
    repaired = payload_of(load(log.path).records[1])
    assert isinstance(repaired, RepairRecord)
    assert (repaired.line, repaired.removed_bytes, repaired.saved_as) == (2, len(tail), "torn-2")
    assert verify(log.path).records == 3
    assert verify(log.path).broken is None


def test_two_repairs_at_the_same_place_keep_both_tails(log: SessionLog, directory: Path) -> None:
    log.append(end(1))
    log.close()
    sound = log.path.read_bytes()
    for tail in (b"first", b"second"):
        log.path.write_bytes(sound + tail)
        SessionLog.open(directory, now)[0].close()
    assert {path.read_bytes() for path in directory.glob("torn-2*")} == {b"first", b"second"}


def test_a_record_without_its_newline_is_kept_and_finished(log: SessionLog, directory: Path) -> None:
    log.append(end(1))
    log.append(end(2))
    log.close()
    log.path.write_bytes(log.path.read_bytes()[:-1])
    again, loaded = SessionLog.open(directory, now)
    again.close()
    assert len(loaded.records) == 2
    assert [record.kind for record in load(log.path).records] == ["end", "end", "repair"]
    assert verify(log.path).broken is None


def test_damage_in_the_middle_stays_and_is_still_named(log: SessionLog, directory: Path) -> None:
    for number in range(3):
        log.append(end(number))
    log.close()
    log.path.write_bytes(log.path.read_bytes().replace(b"task 1", b"task X"))
    again, _ = SessionLog.open(directory, now)
    again.append(end(9))
    again.close()
    broken = verify(log.path).broken
    assert broken is not None
    assert broken.line == 2
    assert [record.seq for record in load(log.path).records] == [1, 3, 4]


def test_a_link_or_a_pipe_in_place_of_the_log_is_refused(directory: Path, tmp_path: Path) -> None:
    directory.mkdir(parents=True)
    target = tmp_path / "precious"
    (directory / "log.jsonl").symlink_to(target)
    with pytest.raises(LogUnreadable, match="Nothing was changed"):
        SessionLog.create(directory, now)
    assert not target.exists()
    (directory / "log.jsonl").unlink()
    os.mkfifo(directory / "log.jsonl")
    for start in (SessionLog.open, SessionLog.create):
        with pytest.raises(LogUnreadable, match="not a regular file"):
            start(directory, now)


def test_a_link_in_place_of_the_session_directory_is_refused(directory: Path, tmp_path: Path) -> None:
    directory.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    directory.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LogWriteError, match="symbolic link"):
        SessionLog.create(directory, now)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_kept(log: SessionLog) -> None:
    message = Message(ts=1, type="say", text="a\ud800b \ud83d\ude00", extra={"k\udfff": ["\udc00"]})
    log.append(MessageRecord(task_id="t", message=message))
    payload = payload_of(load(log.path).records[0])
    assert isinstance(payload, MessageRecord)
    assert payload.message.text == "a\ufffdb \U0001f600"
    assert payload.message.extra == {"k\ufffd": ["\ufffd"]}


FULL_DISK = """
import resource, sys
from pathlib import Path
from robota.log.errors import LogWriteError
from robota.log.kinds.session import EndRecord
from robota.log.chain.reader import load
from robota.log.chain.verify import verify
from robota.log.chain.writer import SessionLog

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

log = SessionLog.create(Path(sys.argv[1]), lambda: 1)
limit(10_000)
recorded = 0
try:
    while True:
        log.append(EndRecord(task_id="t" * 1000, outcome="done"))
        recorded += 1
except LogWriteError as error:
    print(error)
assert verify(log.path).broken is None
try:
    log.keep(b"x" * 20_000)
except LogWriteError as error:
    print(error)
limit(resource.RLIM_INFINITY)
log.append(EndRecord(task_id="after", outcome="done"))
report = verify(log.path)
assert report.broken is None, report
assert report.records == recorded + 1, (report, recorded)
assert load(log.path).problems == ()
"""


def test_a_full_disk_is_a_clear_error_and_the_log_goes_on_afterwards(directory: Path) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(directory)]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert outcome.returncode == 0, outcome.stderr
    record_error, artifact_error = outcome.stdout.splitlines()
    assert "File too large" in record_error
    assert "This step was not recorded; all earlier records are safe." in record_error
    assert "The log was not changed." in artifact_error
    assert list((directory / "artifacts").iterdir()) == []


def descriptor_of(path: Path) -> int:
    held = (int(entry.name) for entry in Path("/proc/self/fd").iterdir() if entry.exists() and entry.samefile(path))
    return next(held)


def test_a_lost_descriptor_stops_the_log_with_a_clear_error(log: SessionLog) -> None:
    log.append(end(1))
    read_end, write_end = os.pipe()
    os.close(read_end)
    os.dup2(write_end, descriptor_of(log.path))
    os.close(write_end)
    for number in (2, 3):
        with pytest.raises(LogWriteError, match=r"records before it are safe|earlier records are safe"):
            log.append(end(number))
    assert len(load(log.path).records) == 1


def test_a_failed_fsync_is_told_to_whoever_waits_and_to_the_next_writer(log: SessionLog) -> None:
    async def scenario() -> None:
        log.append(end(1))
        read_end, write_end = os.pipe()
        os.dup2(write_end, descriptor_of(log.path))
        log.sync_soon()
        with pytest.raises(LogWriteError, match="could not be flushed to disk"):
            await log.sync()
        with pytest.raises(LogWriteError, match="could not be flushed to disk"):
            log.append(end(2))
        os.close(read_end)
        os.close(write_end)

    asyncio.run(scenario())


def test_many_can_wait_for_the_disk_at_once_and_a_cancelled_one_harms_nobody(log: SessionLog) -> None:
    async def scenario() -> None:
        waiting = []
        for number in range(50):
            log.append(end(number))
            waiting.append(asyncio.create_task(log.sync()))
        await asyncio.sleep(0)
        waiting[0].cancel()
        log.sync_soon()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(outcomes[0], asyncio.CancelledError)
        assert outcomes[1:] == [None] * 49

    asyncio.run(scenario())


def test_closing_while_the_disk_is_busy_frees_the_log(log: SessionLog, directory: Path) -> None:
    async def scenario() -> None:
        log.append(end(1))
        log.keep(b"x" * 1_000_000)
        waiting = asyncio.create_task(log.sync())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        log.close()
        log.close()
        SessionLog.open(directory, now)[0].close()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(scenario())
    with pytest.raises(LogWriteError, match="is closed"):
        log.append(end(2))


def test_one_thread_brings_a_log_to_disk_turn_after_turn_and_ends_with_it(log: SessionLog) -> None:
    def at_work() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "log-flush" and thread not in others]

    async def scenario() -> list[threading.Thread]:
        seen = []
        for number in range(5):
            log.append(end(number))
            await log.sync()
            seen += at_work()
        log.keep(b"not on disk yet")
        log.close()
        async with asyncio.timeout(60):
            with pytest.raises(LogWriteError, match=r"could not be flushed to disk|is closed"):
                await log.sync()
        return seen

    others = threading.enumerate()
    seen = asyncio.run(scenario())
    assert len(seen) == 5
    assert len(set(seen)) == 1
    seen[0].join(timeout=60)
    assert not seen[0].is_alive()


def test_an_artifact_is_kept_once_and_comes_back_whole(log: SessionLog, directory: Path) -> None:
    data = bytes(range(256)) * 100
    name = log.keep(data)
    assert log.keep(data) == name
    assert log.artifact(name) == data
    assert [path.name for path in (directory / "artifacts").iterdir()] == [name]
    assert log.artifact(log.keep(b"")) == b""


def test_a_half_written_artifact_is_written_again(log: SessionLog, directory: Path) -> None:
    name = log.keep(b"complete")
    (directory / "artifacts" / name).write_bytes(b"comp")
    with pytest.raises(ArtifactMissing, match="damaged"):
        log.artifact(name)
    log.keep(b"complete")
    assert log.artifact(name) == b"complete"


@pytest.mark.parametrize("name", ["../log.jsonl", "", "0" * 32, "/etc/passwd", "A" * 32])
def test_only_the_name_of_an_artifact_is_read(log: SessionLog, name: str) -> None:
    log.append(TaskRecord(task_id="t", mode="code"))
    with pytest.raises(ArtifactMissing):
        log.artifact(name)


@pytest.mark.parametrize("replaced", ["sessions", "sessions/one"])
def test_a_lost_log_is_not_restored_through_a_link(log: SessionLog, tmp_path: Path, replaced: str) -> None:
    """A program in the workspace could otherwise have it written anywhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    log.append(end(1))
    (tmp_path / replaced).rename(tmp_path / "aside")
    (tmp_path / replaced).symlink_to(elsewhere)
    with pytest.raises(LogWriteError, match="a link"):
        log.keep(b"text")
    with pytest.raises(LogWriteError, match="a link"):
        asyncio.run(log.sync())
    assert list(elsewhere.iterdir()) == []

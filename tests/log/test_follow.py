"""A log is followed while another process writes it, to its last record and no further."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from robota.log.chain.growth import LogPosition
from robota.log.errors import LogUnreadable
from robota.log.follow import follow
from tests.harness.cli import EXECUTABLE, clean_environment
from tests.log.catalogue.logs import Written

WRITER = """
import sys
from pathlib import Path
from tests.log.catalogue.logs import Written
written = Written(Path(sys.argv[1]), "live").prompt("begin")
print("ready", flush=True)
for line in sys.stdin:
    if line == "half\\n":
        import os
        os.write(written.log._descriptor, b'{"seq":')
    else:
        written.reply(line.strip())
    print("written", flush=True)
written.end()
"""


class Writer:
    """Another process that writes a session when it is told to."""

    def __init__(self, root: Path) -> None:
        self.log = root / ".robota/sessions/live/log.jsonl"
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._answer()

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        self._answer()

    def end(self) -> None:
        self._process.communicate()

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def _answer(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline()


def test_records_come_as_they_are_written_until_the_writer_is_done(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    records = follow(writer.log, LogPosition(), pytest.fail)
    seen = [next(records).record.seq for _ in range(5)]
    assert seen == [1, 2, 3, 4, 5]
    writer.say("hello")
    assert next(records).record.seq == 6
    writer.end()
    assert [grown.record.kind for grown in records][-1] == "end"


def test_a_writer_that_is_killed_in_the_middle_of_a_line_ends_it(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.say("half")
    seen: list[int] = []
    watching = threading.Thread(
        target=lambda: seen.extend(g.record.seq for g in follow(writer.log, LogPosition(), print))
    )
    watching.start()
    writer.kill()
    watching.join(60)
    assert not watching.is_alive() and seen == [1, 2, 3, 4, 5]


def test_a_log_that_nobody_writes_is_read_to_its_end(tmp_path: Path) -> None:
    written = Written(tmp_path, "done").prompt("x").end()
    assert len(list(follow(written.log.path, LogPosition(), print))) == 6


def test_a_log_that_is_replaced_is_not_mistaken_for_the_same(tmp_path: Path) -> None:
    written = Written(tmp_path, "live").prompt("x")
    records = follow(written.log.path, LogPosition(), print)
    for _ in range(5):
        next(records)
    data = written.log.path.read_bytes()
    written.log.path.write_bytes(data.replace(b'"text":"x"', b'"text":"y"')[:-30])
    with pytest.raises(LogUnreadable):
        next(records)
    written.close()


def test_watching_from_another_terminal(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    command = [str(EXECUTABLE), "sessions", "watch", "live", "--from-start"]
    before = writer.log.stat().st_mtime_ns
    texts = [
        subprocess.Popen(
            [*command, *more], cwd=tmp_path, env=clean_environment(home), stdout=subprocess.PIPE, text=True
        )
        for more in ((), ("--json",))
    ]
    for process in texts:
        assert process.stdout is not None
        while "begin" not in process.stdout.readline():
            pass
    assert writer.log.stat().st_mtime_ns == before
    writer.say("hello there")
    writer.end()
    shown, as_json = (process.communicate()[0] for process in texts)
    assert "hello there" in shown
    assert as_json.splitlines()[-1].startswith('{"seq":') and '"kind":"end"' in as_json.splitlines()[-1]

"""A long session keeps in memory what the model is sent, not what was cut or condensed long ago."""

from pathlib import Path

from robota.engine.model.reply import NativeCallFormat
from robota.engine.record.history import History
from robota.engine.record.journal import EventBus, Journal
from robota.log.chain.writer import SessionLog
from robota.log.kinds.conversation import CondenseRecord, CutRecord, CutResult
from robota.log.kinds.session import TaskRecord
from robota.log.replay.reading import LogReading
from tests.harness.held_text import characters_held
from tests.log.replay.test_pairing import assistant, call, result, text, user

TASK = "t"
OUTPUT = 40_000
CUT_OUTPUT = 20_000


class LongSession:
    """A history with its log; a round of it is an exchange, which is condensed, and the last output cut."""

    def __init__(self, directory: Path) -> None:
        self.log = SessionLog.create(directory, lambda: 1)
        self.log.append(TaskRecord(task_id=TASK, mode="code"))
        self.history = History(TASK, Journal(self.log, EventBus(self.log.redactor)), NativeCallFormat())
        self.history.add_user([text("go")])
        self.rounds = 0

    def go_on(self, rounds: int) -> None:
        for number in range(self.rounds, self.rounds + rounds):
            newest, name = self.history.recorded, f"call-{number}"
            self.history.add_reply(assistant(text("I look."), call(name)))
            self.history.add_user([result(name, f"{number:09} " * (OUTPUT // 10))])
            self.history.reduce(
                CondenseRecord(
                    task_id=TASK,
                    condense_id=f"condense-{number}",
                    trigger="auto",
                    first=0,
                    end=newest,
                    put=user(text(f"{number:09} summary")),
                )
            )
            put = f"{number:09} cut it" * (CUT_OUTPUT // 16)
            cut = CutResult(turn=newest + 1, call_id=name, put=put)
            self.history.reduce(CutRecord(task_id=TASK, cut_id=f"cut-{number}", results=(cut,)))
        self.rounds += rounds

    def read_again(self, snapshot: Path) -> LogReading:
        reading = LogReading(snapshot, growth=1, trim_after=OUTPUT)
        reading.read(self.log.path)
        return reading


def test_a_running_session_holds_no_text_of_old_cuts(tmp_path: Path) -> None:
    session = LongSession(tmp_path / "session")
    session.go_on(3)
    before = characters_held(session.history)
    session.go_on(30)
    session.log.close()
    assert characters_held(session.history) - before < OUTPUT


def test_a_session_read_from_its_log_or_a_snapshot_holds_no_text_of_old_cuts(tmp_path: Path) -> None:
    session, snapshot = LongSession(tmp_path / "session"), tmp_path / "snapshot"
    session.go_on(3)
    before, size = characters_held(session.read_again(snapshot).session()), snapshot.stat().st_size
    session.go_on(30)
    from_the_whole_log = session.read_again(tmp_path / "another").session()
    from_the_snapshot = session.read_again(snapshot).session()
    session.log.close()
    assert characters_held(from_the_whole_log) - before < 2 * OUTPUT
    assert characters_held(from_the_snapshot) - before < 2 * OUTPUT
    assert snapshot.stat().st_size - size < OUTPUT

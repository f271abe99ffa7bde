"""A file that is kept beside the log: moved, named by its content, and without secrets however long it is."""

import asyncio
from pathlib import Path

import pytest

from robota.log.chain.writer import SessionLog
from robota.log.errors import LogWriteError
from robota.secrets.redaction import Redactor

# Put together here, so that no scanner takes this file for a leak.
KEY = b"ghp_" + b"a1B2" * 9
COVER = b"*" * len(KEY)
LINE = b"a line of an ordinary log, as long as most of them are\n"
LONG = LINE * (17 * 1024 * 1024 // len(LINE))


def open_log(directory: Path) -> SessionLog:
    return SessionLog.create(directory / "session", lambda: 1, Redactor(["my-secret-1"]))


def test_a_long_output_is_kept_without_keys_while_other_work_goes_on(tmp_path: Path) -> None:
    """Keys at its beginning, in the middle and at its very end."""
    output = tmp_path / "output"
    output.write_bytes(b"my-secret-1\n" + LONG + KEY + b"\n" + LONG + KEY)

    async def keep() -> tuple[str, int]:
        keeping = asyncio.create_task(log.keep_file(output))
        turns = 0
        while not keeping.done():
            await asyncio.sleep(0)
            turns += 1
        return await keeping, turns

    log = open_log(tmp_path)
    name, turns = asyncio.run(keep())
    kept = log.artifact(name)
    log.close()
    assert kept == b"*" * 11 + b"\n" + LONG + COVER + b"\n" + LONG + COVER
    assert not output.exists()
    assert turns > 10


def test_a_file_that_is_gone_is_an_error_of_the_log(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    with pytest.raises(LogWriteError, match="was not saved"):
        asyncio.run(log.keep_file(tmp_path / "nowhere"))
    log.close()


def keep_outputs(log: SessionLog, place: Path, *contents: bytes) -> list[str]:
    names = []
    for content in contents:
        (place / "output").write_bytes(content)
        names.append(asyncio.run(log.keep_file(place / "output")))
    return names


def test_the_oldest_outputs_go_when_there_are_too_many_and_a_note_stays(tmp_path: Path) -> None:
    """Those from before a resume count, too; the newest is kept, however long it is."""
    log = open_log(tmp_path)
    log.limit_outputs(5000)
    first, second = keep_outputs(log, tmp_path, b"a" * 2000, b"b" * 2000)
    log.close()
    log, _ = SessionLog.open(tmp_path / "session", lambda: 2)
    log.limit_outputs(5000)
    [third] = keep_outputs(log, tmp_path, b"c" * 2000)
    note = log.find_artifact(first).read_text()
    assert note.startswith("[2,000 bytes of output were kept here") and "keptOutputBytes" in note
    assert log.artifact(second) == b"b" * 2000 and log.artifact(third) == b"c" * 2000
    [fourth] = keep_outputs(log, tmp_path, b"d" * 9000)
    assert log.artifact(fourth) == b"d" * 9000
    assert "removed" in log.find_artifact(third).read_text()
    log.close()

"""Sessions are found by their words and by what they did, whatever state the index is in."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.log.catalogue.catalogue import catalogue
from robota.log.catalogue.places import project_places
from robota.log.chain.writer import SessionLog
from robota.log.kinds.conversation import MessageRecord
from robota.log.search import index
from robota.log.search.search import FoundSession, SearchQuery, match_expression, search
from robota.protocol.message import Message
from tests.log.catalogue.logs import START_MS, Clock, Written


class Library:
    """Some sessions, and a way to search in them."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "project"
        self.user = directory / "user"
        self.root.mkdir()
        self.index = self.user / "index" / "search.sqlite"
        self.notices: list[str] = []

    def find(self, words: str = "", **wishes: Any) -> tuple[FoundSession, ...]:
        sessions = catalogue(project_places(self.root, self.user), self.user, self.notices.append)
        wish = SearchQuery(words=words, **wishes)
        return search(sessions, wish, self.user, self.notices.append)

    def ids(self, words: str = "", **wishes: Any) -> list[str]:
        return sorted(each.session.id for each in self.find(words, **wishes))


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path)
    first = Written(library.root, "parser", model="claude-x").prompt("Fix the parser of dates").reply("It was a comma.")
    first.call("edit_file", {"path": "src/dates.py", "new_string": "strptime"}, "saved", diff="+x").end()
    second = Written(library.root, "server", model="gpt-y").prompt("Why does the server hang?").reply("A lock.")
    second.call("execute_command", {"command": "strace -p 1"}, "futex(FUTEX_WAIT) = ? ERESTARTSYS").end()
    return library


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("parser", ["parser"]),
        ("the", ["parser", "server"]),
        ("PARSER dates", ["parser"]),
        ("parser hang", []),
        ('"parser of"', ["parser"]),
        ('"of parser"', []),
        ("pars*", ["parser"]),
        ("strptime", ["parser"]),
        ("ERESTARTSYS", ["server"]),
        ("strace -p", ["server"]),
        ("src/dates.py", ["parser"]),
    ],
)
def test_words_are_found_in_talk_calls_and_outputs(library: Library, words: str, expected: list[str]) -> None:
    assert library.ids(words) == expected


def test_what_a_session_did_narrows_the_search(library: Library) -> None:
    assert library.ids(file=library.root / "src" / "dates.py") == ["parser"]
    assert library.ids(file=library.root / "dates.py") == []
    assert library.ids(tool="Execute_Command") == ["server"]
    assert library.ids(model="claude") == ["parser"]
    assert library.ids("the", model="gpt") == ["server"]
    assert library.ids("the", since_ms=START_MS + 10**9) == []
    assert library.ids("the", since_ms=START_MS) == ["parser", "server"]


def test_the_found_words_are_marked(library: Library) -> None:
    (found,) = library.find("comma")
    assert found.texts[0].snippet == "It was a \x02comma\x03."


@pytest.mark.parametrize(
    ("words", "snippet"),
    [
        ("日付", "\x02日付\x03の解析を直してくださいversion2"),
        ("解析を", "日付の\x02解析を\x03直してくださいversion2"),
        ("くださ*", "日付の解析を直して\x02くださ\x03いversion2"),
        ("version2", "日付の解析を直してください\x02version2\x03"),
        ("析解", None),
        ("日付 直", "\x02日付\x03の解析を\x02直\x03してくださいversion2"),
    ],
)
def test_words_of_scripts_without_spaces_are_found_in_the_middle(
    library: Library, words: str, snippet: str | None
) -> None:
    Written(library.root, "dates").prompt("日付の解析を直してくださいversion2").reply("Done.").end()
    assert [found.texts[0].snippet for found in library.find(words)] == ([] if snippet is None else [snippet])


def test_what_a_log_gained_is_found_and_what_was_replaced_is_not(library: Library) -> None:
    assert library.ids("zebra") == []
    log, _ = SessionLog.open(library.root / ".robota/sessions/parser", Clock(START_MS + 10**8))
    ts = log.next_ts()
    for text in ("a zebra", "a lion"):
        log.append(MessageRecord(task_id="t", message=Message(ts=ts, type="say", say="text", text=text)))
        expected = {"a zebra": ["parser"], "a lion": []}[text]
        assert library.ids("zebra") == expected
    assert library.ids("lion") == ["parser"]
    log.close()


def test_what_was_deleted_is_not_found_and_not_kept(library: Library) -> None:
    assert library.ids("strptime") == ["parser"]
    (library.root / ".robota/sessions/parser").rename(library.root / "gone")
    assert library.ids("strptime") == []
    (library.root / "gone").rename(library.root / ".robota/sessions/parser")
    assert library.ids("strptime") == ["parser"]


def test_a_damaged_or_useless_index_is_worked_around(library: Library) -> None:
    assert library.ids("parser") == ["parser"]
    library.index.write_bytes(b"\x00" * 100_000)
    assert library.ids("parser") == ["parser"]
    assert "rebuilt" in library.notices[-1]
    library.notices.clear()
    assert library.ids("parser") == ["parser"] and library.notices == []
    library.index.unlink()
    library.index.mkdir()
    assert library.ids("parser") == ["parser"]
    assert "the logs are read instead" in library.notices[-1]


def test_two_processes_index_at_once(library: Library) -> None:
    for number in range(40):
        Written(library.root, f"s{number}").prompt(f"common word{number}").end()
    program = """
import sys
from pathlib import Path
from typing import Any
from robota.log.catalogue.catalogue import catalogue
from robota.log.catalogue.places import project_places
from robota.log.search import index
from robota.log.search.search import SearchQuery, search
root, user = Path(sys.argv[1]), Path(sys.argv[2])
sessions = catalogue(project_places(root, user), user, print)
print(len(search(sessions, SearchQuery(words="common", limit=100), user, print)))
"""
    command = [sys.executable, "-c", program, str(library.root), str(library.user)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[0] for process in running] == ["40\n"] * 3
    assert len(library.find("common", limit=100)) == 40
    assert all(len(each.texts) == 1 for each in library.find("common", limit=100))


@given(st.text(max_size=60))
def test_no_words_are_an_error_of_the_index(words: str) -> None:
    import sqlite3

    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE entry USING fts5(text)")
    query = match_expression(words)
    if query:
        index.execute("SELECT * FROM entry WHERE entry MATCH ?", (query,)).fetchall()
    index.close()


def test_how_far_the_index_is_can_be_told_and_what_was_read_before_a_stop_is_kept(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "BYTES_IN_A_TRANSACTION", 1)  # so that each record is one
    monkeypatch.setattr(index, "PROGRESS_BYTES", 1)
    sessions = catalogue(project_places(library.root, library.user), library.user, print)
    told: list[tuple[int, int]] = []

    def stop_soon(done: int, size: int) -> None:
        told.append((done, size))
        if done > size / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(sessions, SearchQuery(words="lock"), library.user, print, stop_soon)
    assert told == sorted(told) and {size for _, size in told} == {sum(each.size for each in sessions)}
    again: list[tuple[int, int]] = []
    found = search(sessions, SearchQuery(words="the"), library.user, print, lambda *how: again.append(how))
    assert {each.session.id for each in found} == {"parser", "server"}
    assert again[-1][0] == again[-1][1] < told[0][1] * 0.6

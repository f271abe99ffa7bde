"""Where sessions live: inside the project if that is safe, findable by the start of their id."""

import subprocess
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.log.chain.writer import SessionLog
from robota.log.errors import InvalidSessionId, NoPlaceForSessions
from robota.log.kinds.session import EndRecord, SessionHeader
from robota.log.store import (
    SessionPlace,
    fallback_directory,
    is_valid_session_id,
    list_sessions,
    new_session_id,
    prepare_project_directory,
    session_directory,
)
from robota.protocol.permission_mode import PermissionMode


def start(root: Path, session_id: str, name: str | None = None) -> Path:
    log = SessionLog.create(session_directory(root, session_id), lambda: 1)
    log.append(
        SessionHeader(
            id=session_id,
            cwd=str(root),
            model="m",
            provider="p",
            permission_mode=PermissionMode.DEFAULT,
            completion="implicit",
            version="0",
            name=name,
        )
    )
    log.close()
    return log.path.parent


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_a_new_id_is_a_uuid_of_version_7_and_a_valid_session_id(now_ms: int, random_bytes: bytes) -> None:
    text = new_session_id(now_ms, random_bytes)
    made = uuid.UUID(text)
    assert (str(made), made.version, made.variant) == (text, 7, uuid.RFC_4122)
    assert made.int >> 80 == now_ms
    assert is_valid_session_id(text)


def test_later_ids_sort_later() -> None:
    assert new_session_id(1_000, b"\xff" * 10) < new_session_id(1_001, b"\0" * 10)


@pytest.mark.parametrize("text", ["a", "A-b_c.d", "0" * 128])
def test_ids_that_may_be_used(text: str) -> None:
    assert is_valid_session_id(text)


@pytest.mark.parametrize("text", ["", ".", "..", "a..b", "-a", "a/b", "../a", "a\n", "a\0", "ä", "a" * 129, "a b"])
def test_ids_that_could_leave_their_place_are_refused(text: str, tmp_path: Path) -> None:
    assert not is_valid_session_id(text)
    with pytest.raises(InvalidSessionId, match="Nothing was changed"):
        session_directory(tmp_path, text)


def git_status(root: Path) -> str:
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=300)
    command = ["git", "-C", str(root), "status", "--porcelain", "--untracked-files=all"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def test_git_does_not_see_what_we_keep_in_a_project(tmp_path: Path) -> None:
    place = prepare_project_directory(tmp_path, tmp_path / "unused")
    assert place.reason is None
    assert place.session("one") == session_directory(tmp_path, "one")
    start(tmp_path, "one")
    assert git_status(tmp_path) == ""
    assert prepare_project_directory(tmp_path, tmp_path / "unused") == place


def test_in_a_shared_directory_only_the_sessions_are_hidden(tmp_path: Path) -> None:
    (tmp_path / ".robota").mkdir()
    (tmp_path / ".robota" / "settings.json").write_text("{}")
    assert prepare_project_directory(tmp_path, tmp_path / "unused").reason is None
    start(tmp_path, "one")
    assert git_status(tmp_path) == "?? .robota/settings.json\n"


@pytest.mark.parametrize("link", [".robota", ".robota/sessions"])
def test_a_link_planted_in_the_project_is_not_followed(tmp_path: Path, link: str) -> None:
    root, elsewhere, fallback = tmp_path / "root", tmp_path / "elsewhere", tmp_path / "fallback"
    elsewhere.mkdir()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(elsewhere)
    place = prepare_project_directory(root, fallback)
    assert place.directory == fallback
    assert "symbolic link" in (place.reason or "")
    assert list(elsewhere.iterdir()) == []


def test_sessions_go_to_the_fallback_where_the_project_cannot_hold_them(tmp_path: Path) -> None:
    (tmp_path / ".robota").write_text("a file in the way")
    fallback = fallback_directory(tmp_path / "user", tmp_path)
    place = prepare_project_directory(tmp_path, fallback)
    assert (place.directory, bool(place.reason)) == (fallback, True)
    SessionLog.create(place.session("one"), lambda: 1).close()
    assert [entry.id for entry in list_sessions(tmp_path, fallback)] == ["one"]


def test_no_place_at_all_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / ".robota").write_text("a file in the way")
    with pytest.raises(NoPlaceForSessions, match="Nothing was changed"):
        prepare_project_directory(tmp_path, tmp_path / ".robota" / "fallback")


def test_workspaces_of_the_same_name_do_not_share_a_fallback(tmp_path: Path) -> None:
    places = {fallback_directory(tmp_path, Path(root)) for root in ("/a/same", "/b/same", "/a/s me", "/")}
    assert len(places) == 4
    assert all(is_valid_session_id(place.name.lstrip("-")) for place in places)


def test_the_list_shows_names_and_survives_strangers(tmp_path: Path) -> None:
    start(tmp_path, "one", name="fix the tests")
    sessions = tmp_path / ".robota" / "sessions"
    (sessions / "empty").mkdir()
    (sessions / "stray file").write_text("x")
    (sessions / "damaged").mkdir()
    (sessions / "damaged" / "log.jsonl").write_bytes(b"\0" * 100_000)
    (sessions / "headless").mkdir()
    log = SessionLog.create(sessions / "headless", lambda: 1)
    log.append(EndRecord(task_id="t", outcome="done"))
    log.close()
    entries = {entry.id: entry.header and entry.header.name for entry in list_sessions(tmp_path)}
    assert entries == {"one": "fix the tests", "damaged": None, "headless": None}
    assert list_sessions(tmp_path / "nowhere") == ()


def test_several_that_begin_at_once_hide_the_same_directory(tmp_path: Path) -> None:
    """What git sees must not depend on who came first."""
    together = threading.Barrier(4)

    def begin(root: Path) -> SessionPlace:
        together.wait()
        return prepare_project_directory(root, tmp_path / "fallback")

    with ThreadPoolExecutor(4) as people:
        for number in range(200):
            root = tmp_path / str(number)
            root.mkdir()
            assert all(place.reason is None for place in people.map(begin, [root] * 4))
            assert [path.name for path in root.iterdir()] == [".robota"]
            assert (root / ".robota/.gitignore").read_text() == "*\n"
            assert not (root / ".robota/sessions/.gitignore").exists()

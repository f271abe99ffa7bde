"""The look for a newer version: against a real index on loopback, once a day, and never in the way."""

import contextlib
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.cli.update.installation import update_command
from robota.cli.update.package_index import index_address
from robota.cli.update.versions import newest, versions_in
from robota.version import VERSION
from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal

NEWER = "99.1.0"


class Index:
    """A package index that offers these versions, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.url = ""
        self.release = threading.Event()


@contextlib.contextmanager
def index(*versions: str, html: bool = False, held: bool = False) -> Iterator[Index]:
    state = Index()
    names = [f"robota-{version}-py3-none-any.whl" for version in versions]
    page = "".join(f'<a href="../{name}#sha256=0">{name}</a>\n' for name in names)
    body = page if html else json.dumps({"meta": {"api-version": "1.0"}, "files": [{"filename": n} for n in names]})

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            if held:
                state.release.wait(60)
            self.send_response(200 if versions else 404)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *arguments: Any) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/simple"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(("typed", "html"), [("--check-update", False), ("update", True)])
def test_a_newer_version_is_named_with_the_command_that_installs_it(robota: Robota, typed: str, html: bool) -> None:
    with index("0.0.1", NEWER, "100.0rc1", html=html) as there:
        done = robota(typed, env={"PIP_INDEX_URL": f"{there.url}/"})
    assert done.code == 0 and f"Robota {NEWER} is available" in done.stdout
    assert f"git -C {Path(__file__).parents[3]} pull" in done.stdout, "the tests run an editable installation"
    assert there.asked == ["/simple/robota/"]
    cache = json.loads((robota.home / ".robota/update-check.json").read_text())
    assert cache["packageName"] == "robota" and cache["latestVersion"] == NEWER and cache["currentVersion"] == VERSION


def test_the_newest_says_so(robota: Robota) -> None:
    with index(VERSION) as there:
        assert "newest" in robota("--check-update", env={"UV_DEFAULT_INDEX": there.url}).stdout


def test_a_failure_is_said_only_when_asked_for_and_shows_no_password(robota: Robota) -> None:
    done = robota("--check-update", env={"PIP_INDEX_URL": "http://me:pw-7@127.0.0.1:9/simple"})
    assert done.code == 1 and "Could not check" in done.stderr and "pw-7" not in done.stderr
    script(robota, {"text": "ok"})
    with Terminal(robota, "hello", env={"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}) as terminal:
        assert terminal.hang_up() == 0
    assert "newer" not in terminal.screen and "available" not in terminal.screen


def test_an_interactive_start_asks_once_a_day_and_shows_it_at_the_next(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    cache = robota.home / ".robota/update-check.json"
    with index(NEWER) as there:
        for round in range(2):
            with Terminal(robota, "hello", env={"PIP_INDEX_URL": there.url}) as terminal:
                terminal.wait_until(cache.exists)
                assert terminal.hang_up() == 0
            assert (f"Robota {NEWER} is available" in terminal.screen) is (round == 1)
        assert len(there.asked) == 1


@pytest.mark.parametrize("hours", [-25, 25], ids=["yesterday", "a clock that was ahead"])
def test_an_interactive_start_looks_again_after_an_old_or_a_future_look(robota: Robota, hours: int) -> None:
    script(robota, {"text": "ok"})
    cache = robota.home / ".robota/update-check.json"
    with index(NEWER) as there:
        assert robota("--check-update", env={"PIP_INDEX_URL": there.url}).code == 0
        old = json.loads(cache.read_text())
        cache.write_text(json.dumps({**old, "checkedAt": old["checkedAt"] + hours * 60 * 60 * 1000}))
        with Terminal(robota, "hello", env={"PIP_INDEX_URL": there.url}) as terminal:
            terminal.wait_until(lambda: len(there.asked) == 2)
            terminal.hang_up()


def test_a_silent_index_does_not_block_the_start(robota: Robota) -> None:
    """The index of this test answers only after the model has."""
    script(robota, {"text": "the answer"})
    with index(NEWER, held=True) as there:
        with Terminal(robota, "hello", env={"PIP_INDEX_URL": there.url}) as terminal:
            terminal.wait_for("the answer")
            assert terminal.hang_up() == 0
        there.release.set()


def test_a_failed_look_speaks_of_the_index(robota: Robota) -> None:
    """Not of a model server and its baseURL."""
    done = robota("--check-update", env={"PIP_INDEX_URL": "http://me:pw-7@127.0.0.1:9/simple"})
    assert done.code == 1 and "the package index http://127.0.0.1:9/simple" in done.stderr
    assert "nothing listens" in done.stderr
    assert not any(words in done.stderr for words in ("model server", "baseURL", "provider profile", "pw-7"))


def test_an_index_without_robota_is_named(robota: Robota) -> None:
    with index() as there:
        done = robota("--check-update", env={"PIP_INDEX_URL": there.url})
    assert done.code == 1 and "HTTP 404" in done.stderr and "model" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (["-p", "hello"], {}),
        (["hello", "--disable-update-check"], {}),
        (["hello"], {"ROBOTA_DISABLE_UPDATE_CHECK": "1"}),
        (["hello"], {"DO_NOT_TRACK": "1"}),
        (["hello"], {"CI": "true"}),
    ],
)
def test_print_mode_scripts_and_those_who_do_not_want_it_never_ask(
    robota: Robota, arguments: list[str], env: dict[str, str]
) -> None:
    script(robota, {"text": "ok"})
    with index(NEWER) as there, Terminal(robota, *arguments, env={**env, "PIP_INDEX_URL": there.url}) as terminal:
        end = terminal.end if "-p" in arguments else terminal.hang_up
        assert end() == 0, terminal.screen
    assert there.asked == [] and NEWER not in terminal.screen
    assert not (robota.home / ".robota/update-check.json").exists()


def test_a_broken_cache_is_no_obstacle(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    (robota.home / ".robota/update-check.json").write_text("{oops")
    with index(NEWER) as there, Terminal(robota, "hello", env={"PIP_INDEX_URL": there.url}) as terminal:
        terminal.wait_until(lambda: len(there.asked) == 1)
        assert terminal.hang_up() == 0


def test_where_the_address_comes_from(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = http://pip.example/packages/\n")
    assert index_address(env) == "http://pip.example/packages"
    uv = tmp_path / ".config/uv/uv.toml"
    uv.parent.mkdir(parents=True)
    uv.write_text('[[index]]\nurl = "http://other.example"\n[[index]]\nurl = "http://uv.example/s"\ndefault = true\n')
    assert index_address(env) == "http://uv.example/s"
    assert index_address({**env, "UV_DEFAULT_INDEX": "mine=http://named.example"}) == "http://named.example"
    assert index_address(env, "https://chosen.example/") == "https://chosen.example"
    assert index_address({**env, "PIP_INDEX_URL": "file:///etc"}, "ftp://x") == "http://uv.example/s"


def test_versions_are_compared_as_numbers_and_previews_do_not_count() -> None:
    assert newest(["0.9", "0.10", "0.10.dev1", "0.2.1", "1.0rc1"]) == "0.10"
    assert newest(["1.0", "1.0.post1"]) == "1.0.post1"
    assert newest(["1.0a1"]) is None
    withdrawn = b'{"files": [{"filename": "robota-2.0.tar.gz", "yanked": "bad"}, {"filename": "robota-1.0.tar.gz"}]}'
    assert versions_in(withdrawn, "robota") == ["1.0"]
    page = b'<a href="robota-3.0.tar.gz" data-yanked="">x</a> <a href="robota-2.0.tar.gz">y</a>'
    assert versions_in(page, "robota") == ["2.0"]


@given(st.binary())
def test_any_page_can_be_read(body: bytes) -> None:
    assert newest(versions_in(body, "robota")) is None or b"robota-" in body.lower()


@pytest.mark.parametrize(
    ("prefix", "made_by", "command"),
    [
        ("pipx/venvs/robota", "", "pipx upgrade robota"),
        ("uv/tools/robota", "uv = 0.9.1", "uv tool upgrade robota"),
        ("project/.venv", "uv = 0.9.1", "uv pip install --python '/a b/python' --upgrade robota"),
        ("project/.venv", "home = /usr/bin", "'/a b/python' -m pip install --upgrade robota"),
        ("usr", None, "'/a b/python' -m pip install --upgrade robota"),
    ],
)
def test_the_command_that_updates_depends_on_how_it_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, made_by: str | None, command: str
) -> None:
    environment = tmp_path / prefix
    environment.mkdir(parents=True)
    if made_by is not None:
        (environment / "pyvenv.cfg").write_text(f"{made_by}\n")
    monkeypatch.setattr(sys, "path", [])  # an installation from an index, which has no source directory
    assert update_command(environment, "/a b/python") == command


@pytest.mark.parametrize(
    ("prefix", "made_by", "command"),
    [
        ("pipx/venvs/robota", "pyvenv.cfg", "pipx install --force '/src/my robota'"),
        ("uv/tools/robota", "pyvenv.cfg", "uv tool install --reinstall '/src/my robota'"),
        ("share/robota/1", "made-by-scripts-install", "'/src/my robota'/scripts/install"),
        ("project/.venv", "pyvenv.cfg", "/p/python -m pip install --upgrade '/src/my robota'"),
    ],
)
def test_what_was_installed_from_a_clone_is_updated_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, made_by: str, command: str
) -> None:
    """And never from an index, where the name may belong to somebody else."""
    environment = tmp_path / prefix
    environment.mkdir(parents=True)
    (environment / made_by).touch()
    _installed_from(tmp_path, monkeypatch, {"url": "file:///src/my%20robota", "dir_info": {}})
    assert update_command(environment, "/p/python") == f"git -C '/src/my robota' pull && {command}"


def test_what_was_installed_from_a_repository_is_updated_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = {"url": "https://git.example.com/robota", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}}
    _installed_from(tmp_path, monkeypatch, origin)
    expected = "/p/python -m pip install --upgrade git+https://git.example.com/robota"
    assert update_command(tmp_path, "/p/python") == expected


def _installed_from(place: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any]) -> None:
    metadata = place / "lib" / "robota-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: robota\nVersion: 0.1.0\n")
    (metadata / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.setattr(sys, "path", [str(place / "lib")])


def test_a_copy_from_a_clone_says_how_to_update_where_no_index_is_known(robota: Robota) -> None:
    done = robota("update", env={"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "", "UV_DEFAULT_INDEX": ""})
    assert done.code == 0 and f"git -C {Path(__file__).parents[3]} pull" in done.stdout

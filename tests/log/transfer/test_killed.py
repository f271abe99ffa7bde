"""Whatever kills an action on sessions in the middle: nothing is lost, and nothing half done is taken for whole."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.cli.main import main
from robota.log.catalogue.catalogue import catalogue
from robota.log.catalogue.places import project_places
from robota.log.catalogue.trash import trashed_sessions
from robota.log.chain.verify import verify
from tests.harness.cli import EXECUTABLE, clean_environment, run, with_room_for
from tests.log.catalogue.logs import Written

EVENTS = frozenset({"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.scandir", "sqlite3.connect"})
MOST_POINTS = 400


class Desk:
    """A project with two sessions, one of them kept outside as a transcript too."""

    def __init__(self, workspace: Path, home: Path) -> None:
        self.root, self.user = workspace, home / ".robota"
        for name in ("one", "two"):
            written = Written(workspace, name).prompt(f"{name} needle").reply("So.")
            written.log.keep(name.encode() * 100)
            written.end()
        self.bundle = workspace / "bundle.zip"

    def run(self, *arguments: str) -> int:
        return main(["sessions", *arguments, "--cwd", str(self.root)])

    def ids(self) -> set[str]:
        found = catalogue(project_places(self.root, self.user), self.user, print)
        for each in found:
            assert verify(each.directory / "log.jsonl").broken is None
        return {each.id for each in found}

    def trashed(self) -> set[str]:
        return {each.id for each in trashed_sessions(project_places(self.root, self.user))}


@pytest.fixture
def desk(workspace: Path, home: Path) -> Desk:
    return Desk(workspace, home)


def killed_at_every_point(run: Callable[[], object], check: Callable[[], None]) -> int:
    """Run it in a process that is killed at its first step, its second, and so on, until it comes to its end."""
    for point in range(1, MOST_POINTS):
        child = os.fork()
        if child == 0:
            _run_until(point, run)
        _, status = os.waitpid(child, 0)
        check()
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return point
    raise AssertionError("it never came to its end")


def _run_until(point: int, run: Callable[[], object]) -> None:
    seen = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event not in EVENTS:
            return
        seen += 1
        if seen == point:
            os.kill(os.getpid(), signal.SIGKILL)

    silent = os.open(os.devnull, os.O_RDWR)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    sys.addaudithook(count)
    try:
        run()
    except (Exception, SystemExit):  # noqa: BLE001
        os._exit(1)
    os._exit(0)


def test_searching(desk: Desk) -> None:
    def check() -> None:
        assert desk.ids() == {"one", "two"}

    assert killed_at_every_point(lambda: desk.run("search", "needle"), check) > 5
    assert desk.run("search", "needle") == 0


def test_exporting(desk: Desk) -> None:
    def check() -> None:
        assert not desk.bundle.exists() or desk.run("export", "one", "--format", "bundle", "-o", str(desk.bundle)) == 1

    arguments = ("export", "one", "--format", "bundle", "-o", str(desk.bundle))
    assert killed_at_every_point(lambda: desk.run(*arguments), check) > 5
    assert desk.bundle.exists()


def test_importing(desk: Desk) -> None:
    desk.run("export", "one", "--format", "bundle", "-o", str(desk.bundle))

    def check() -> None:
        assert desk.ids() >= {"one", "two"}

    assert killed_at_every_point(lambda: desk.run("import", str(desk.bundle)), check) > 5
    assert len(desk.ids()) >= 3


def test_deleting_and_pruning(desk: Desk) -> None:
    def check_deleted() -> None:
        assert desk.ids() | desk.trashed() == {"one", "two"} and not desk.ids() & desk.trashed()

    def delete() -> None:
        if "two" in desk.ids():
            assert desk.run("delete", "two") == 0

    killed_at_every_point(delete, check_deleted)
    assert desk.ids() == {"one"}
    killed_at_every_point(lambda: desk.run("prune"), lambda: None)
    assert desk.trashed() == set() and desk.ids() == {"one"}


@pytest.mark.parametrize("action", ["search", "export", "import", "fork", "list"])
def test_a_full_disk(desk: Desk, home: Path, action: str) -> None:
    desk.run("export", "one", "--format", "bundle", "--no-redact", "-o", str(desk.bundle))
    shutil.rmtree(desk.user, ignore_errors=True)
    arguments = {
        "search": ("search", "needle"),
        "export": ("export", "one", "--format", "html", "-o", "x.html"),
        "import": ("import", str(desk.bundle)),
        "fork": ("fork", "one"),
        "list": ("list",),
    }[action]
    no_room = with_room_for(0, str(EXECUTABLE), "sessions", *arguments)
    finished = run(no_room, desk.root, clean_environment(home), "")
    only_reads = action in ("search", "list")
    assert finished.code == (0 if only_reads else 1)
    assert "Traceback" not in finished.stderr
    assert ("the logs are read instead" if only_reads else "could not be written") in finished.stderr
    assert desk.ids() == {"one", "two"}
    assert not list(desk.root.rglob(".new/*")) and not list(desk.root.rglob("*.part"))

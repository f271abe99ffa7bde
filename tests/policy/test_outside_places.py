"""Reading outside the workspace: asked about, never silently, and of credentials not at all."""

from pathlib import Path

import msgspec
import pytest

from robota.contracts.verdict import Decision, Subject, Verdict
from robota.policy.decide import decide
from robota.policy.stages import AddedPlaces, PolicyContext
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.sandbox.home.added_directories import AddedDirectories, NotAdded
from tests.policy.judging import PLACES, judge, reading, rules, running, writing


@pytest.mark.parametrize("mode", ["plan", "default", "acceptEdits", "confined"])
@pytest.mark.parametrize("rule", ["Read", "Read(**)", "read_file", "Read(*.py)"])
def test_reading_outside_asks_in_every_mode_whatever_is_allowed_inside(mode: str, rule: str) -> None:
    verdict = judge(reading("/srv/other/a.py"), mode, allow=[rule], grants=[rule])
    assert verdict.decision is Decision.ASK and "outside the workspace" in verdict.reason


@pytest.mark.parametrize("path", ["/srv/other/a.py", "../srv/other/a.py"])
def test_a_rule_that_names_the_place_allows_it(path: str) -> None:
    assert judge(reading(path), allow=["Read(//srv/other)"]).decision is Decision.ALLOW
    assert judge(reading(path), grants=["Read(//srv/other/a.py)"]).decision is Decision.ALLOW
    assert judge(reading(path), allow=["Read(//srv/others)"]).decision is Decision.ASK
    assert judge(reading(path), allow=["Read(//srv)"], deny=["Read(//srv/other/**)"]).decision is Decision.DENY


def test_the_offered_rules_allow_what_was_asked_and_are_narrow(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    exact, around = judge(reading(str(tmp_path / "a.py"))).suggestions
    assert exact.rules == (f"Read(/{tmp_path}/a.py)",) and around.rules == (f"Read(/{tmp_path})",)
    for offered in (exact, around):
        assert judge(reading(str(tmp_path / "a.py")), grants=offered.rules).decision is Decision.ALLOW
    [directory] = judge(reading(str(tmp_path))).suggestions
    assert directory.rules == (f"Read(/{tmp_path})",)
    assert [each.rules for each in judge(reading("/home/me/notes.txt")).suggestions] == [
        ("Read(//home/me/notes.txt)",)
    ], "no rule for the whole home is offered"


@pytest.mark.parametrize("mode", list(PermissionMode))
@pytest.mark.parametrize("path", ["/home/me/.ssh/id_rsa", "/home/me/.aws/credentials", "../home/me/.gnupg/x"])
def test_credentials_outside_are_never_read(path: str, mode: str) -> None:
    assert judge(reading(path), mode, allow=["Read", "Read(~/**)"]).decision is Decision.DENY


def test_writing_outside_stays_denied() -> None:
    assert judge(writing("/srv/other/a.py"), "acceptEdits", allow=["Edit(//srv/**)"]).decision is Decision.DENY


def with_added(call: Subject | str, root: Path, *, sandboxed: bool = True) -> Verdict:
    paths: dict[Path, None] = {}
    added = AddedDirectories(Path("/ws"), Path("/home/me"), Path("/home/me/.robota"), paths)
    added.add(root)
    context = PolicyContext(
        mode=PermissionMode.DEFAULT,
        resolver=msgspec.structs.replace(PLACES),
        added=AddedPlaces(directories=lambda: added, now=paths.copy),
        deny=rules("Read(//**/closed/**)"),
        sandboxed=sandboxed,
    )
    return decide(running(call) if isinstance(call, str) else call, context)


def test_added_directories_are_read_like_the_workspace(tmp_path: Path) -> None:
    root = tmp_path / "lib"
    root.mkdir()
    for call in (reading(f"{root}/a.py"), reading(str(root)), f"cat {root}/a.py", f"ls {root}"):
        assert with_added(call, root).decision is Decision.ALLOW, call
    assert with_added(reading(f"{root}/.env"), root).decision is Decision.ASK
    assert with_added(f"cat {root}/.env", root).decision is Decision.ASK
    assert with_added(reading(f"{root}/closed/a"), root).decision is Decision.DENY
    assert with_added(reading(f"{root}x/a.py"), root).decision is Decision.ASK
    assert with_added(writing(f"{root}/a.py"), root).decision is Decision.DENY
    assert with_added(f"rm {root}/a.py", root).decision is not Decision.ALLOW
    assert with_added(f"cat {root}/a.py", root, sandboxed=False).decision is Decision.ASK


def test_only_directories_of_projects_can_be_added(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "home/work"
    for each in (root / "src", home / ".ssh", home / ".robota/sessions", home / "lib"):
        each.mkdir(parents=True)
    (home / "file").touch()
    (home / "link").symlink_to(home / ".ssh")
    paths: dict[Path, None] = {}
    added = AddedDirectories(root, home, home / ".robota", paths)
    refused = [root, root / "src", home, tmp_path, home / ".ssh", home / "link", home / "file", home / ".robota"]
    for each in (*refused, Path("/"), Path("/proc"), Path("/dev/shm"), home / "missing", home / ".robota/sessions"):
        with pytest.raises(NotAdded, match=r"Nothing was added\."):
            added.add(each)
    with pytest.raises(NotAdded):
        added.add_all([home / "lib", home])
    assert not paths
    assert added.add(home / "lib") == home / "lib" and list(paths) == [home / "lib"]

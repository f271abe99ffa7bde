"""Capturing a workspace: everything that is in it, byte for byte, and nothing that a repository planted runs."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from robota.workspace.checkpoints import packing
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore
from tests.workspace.checkpoints.dying import run_until
from tests.workspace.checkpoints.restoring import restore
from tests.workspace.checkpoints.trees import tree_of


def git(directory: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


def paths(store: CheckpointStore, before: str, after: str) -> dict[str, str]:
    return {change.path: change.kind for change in store.changes(before, after)}


class TestWhatIsCaptured:
    def test_changes_between_two_checkpoints(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "a").write_text("one")
        (workspace / "gone").write_text("x")
        first = store.capture()
        (workspace / "a").write_text("two")
        (workspace / "gone").unlink()
        (workspace / "new").write_text("n")
        second = store.capture()
        assert paths(store, first.id, second.id) == {"a": "modified", "gone": "deleted", "new": "added"}
        assert b"-one" in store.diff(first.id, second.id) and b"+two" in store.diff(first.id, second.id)

    def test_nothing_changed_is_the_same_checkpoint(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "a").write_text("one")
        first = store.capture()
        again = store.capture()
        assert (again.id, again.is_new) == (first.id, False)

    @pytest.mark.parametrize(
        "name", [b"new\nline", b"\xff\xfe", b"-rf", b"--help", b":(glob)x", b"a b", b'quo"te', b"*", b" ", b"git~1"]
    )
    def test_odd_names(self, store: CheckpointStore, workspace: Path, name: bytes) -> None:
        path = workspace / os.fsdecode(name)
        path.write_bytes(b"1")
        first = store.capture([os.fsdecode(name)])
        path.unlink()
        restore(store, first.id)
        assert tree_of(workspace)[name][1] == b"1"

    def test_nested_repositories_are_plain_directories(self, store: CheckpointStore, workspace: Path) -> None:
        git(workspace, "init")
        for place in ("empty-history", "vendored", "vendored/deeper"):
            (workspace / place).mkdir()
            git(workspace / place, "init")
            (workspace / place / "file").write_text(place)
        git(workspace / "vendored", "add", "file")
        git(workspace / "vendored", "commit", "-m", "x")
        first = store.capture()
        (workspace / "vendored/file").write_text("changed")
        (workspace / "vendored/deeper/file").unlink()
        second = store.capture()
        assert paths(store, first.id, second.id) == {"vendored/file": "modified", "vendored/deeper/file": "deleted"}
        restore(store, first.id)
        assert (workspace / "vendored/deeper/file").read_text() == "vendored/deeper"
        assert (workspace / "vendored/.git/HEAD").exists()

    def test_ignored_files_count_when_they_are_named(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / ".gitignore").write_text("build/\n*.out\n")
        (workspace / "build").mkdir()
        (workspace / "build/a").write_text("1")
        (workspace / "b.out").write_text("1")
        first = store.capture()
        second = store.capture(["build", "b.out"])
        assert paths(store, first.id, second.id) == {}
        store.capture(["made.out"])
        (workspace / "build/a").write_text("2")
        (workspace / "made.out").write_text("3")
        third = store.capture(["made.out"])
        assert paths(store, second.id, third.id) == {"build/a": "modified", "made.out": "added"}
        (workspace / "b.out").unlink()
        restore(store, first.id)
        assert (workspace / "build/a").read_text() == "1" and (workspace / "b.out").read_text() == "1"
        assert not (workspace / "made.out").exists()

    def test_what_cannot_be_captured_is_told(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "big").write_bytes(b"x" * 100_001)
        (workspace / "grows").write_text("x")
        store.capture()
        (workspace / "grows").write_bytes(b"x" * 100_001)
        captured = store.capture()
        assert {each.path for each in captured.details.not_captured} == {"big", "grows"}
        assert "100,000 bytes" in captured.details.not_captured[0].reason
        assert store.capture().id == captured.id

    def test_a_file_that_became_a_pipe(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "a").write_text("x")
        store.capture()
        (workspace / "a").unlink()
        os.mkfifo(workspace / "a")
        (workspace / "b").write_text("x")
        assert [each.path for each in store.capture().details.not_captured] == ["a"]


class TestHostileWorkspaces:
    def test_attributes_and_filters_of_the_repository_do_nothing(self, store: CheckpointStore, workspace: Path) -> None:
        git(workspace, "init")
        git(workspace, "config", "filter.evil.clean", f"touch {workspace}/ran; cat")
        git(workspace, "config", "core.autocrlf", "true")
        git(workspace, "config", "core.fsmonitor", f"touch {workspace}/ran")
        (workspace / ".gitattributes").write_text("* filter=evil text eol=crlf ident working-tree-encoding=UTF-16\n")
        data = b"$Id$\r\nx\n\x00\xff"
        (workspace / "a").write_bytes(data)
        first = store.capture()
        (workspace / "a").write_bytes(b"other")
        restore(store, first.id)
        assert (workspace / "a").read_bytes() == data
        assert not (workspace / "ran").exists()

    def test_a_git_file_that_points_elsewhere_is_not_followed(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / ".git").write_text("gitdir: /nowhere/at/all\n")
        (workspace / "sub").mkdir()
        (workspace / "sub/.git").write_text("gitdir: /nowhere/at/all\n")
        (workspace / "sub/a").write_text("1")
        first = store.capture()
        (workspace / "sub/a").unlink()
        restore(store, first.id)
        assert (workspace / "sub/a").read_text() == "1"

    def test_links_out_of_the_workspace_are_links(
        self, store: CheckpointStore, workspace: Path, tmp_path: Path
    ) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret").write_text("s")
        (workspace / "link").symlink_to(outside)
        first = store.capture(["link/secret"])
        (workspace / "link").unlink()
        (workspace / "link").mkdir()
        (workspace / "link/secret").write_text("inside")
        second = store.capture()
        restore(store, first.id)
        assert (workspace / "link").readlink() == outside
        restore(store, second.id)
        assert (outside / "secret").read_text() == "s"
        assert (workspace / "link/secret").read_text() == "inside"

    def test_rules_that_bring_our_own_directory_back_are_not_obeyed(
        self, store: CheckpointStore, workspace: Path
    ) -> None:
        (workspace / ".gitignore").write_text("!.robota\n!.robota/**\n")
        (workspace / ".robota").mkdir()
        (workspace / ".robota/log").write_text("x")
        first = store.capture([".robota/log"])
        assert "log" not in store.diff(store.capture().id, first.id).decode()
        (workspace / ".robota/log").write_text("y")
        assert store.capture().id == first.id

    def test_a_store_that_others_can_write_is_not_taken_up(self, store: CheckpointStore, tmp_path: Path) -> None:
        (tmp_path / "store").mkdir()
        (tmp_path / "store").chmod(0o777)
        with pytest.raises(CheckpointError, match="Others can write"):
            store.capture()

    def test_a_store_of_another_workspace_is_not_taken_up(self, store: CheckpointStore, tmp_path: Path) -> None:
        store.capture()
        (tmp_path / "other").mkdir()
        with pytest.raises(CheckpointError, match="are those of"):
            CheckpointStore(tmp_path / "store", tmp_path / "other", os.environ).capture()

    def test_a_link_as_a_store_is_not_taken_up(self, store: CheckpointStore, tmp_path: Path) -> None:
        (tmp_path / "planted").mkdir()
        (tmp_path / "store").symlink_to(tmp_path / "planted")
        with pytest.raises(CheckpointError, match="not a directory"):
            store.capture()

    @pytest.mark.parametrize("name", ["--output=x", "HEAD", "../..", "", "g" * 40])
    def test_a_log_cannot_smuggle_in_what_is_no_checkpoint(self, store: CheckpointStore, name: str) -> None:
        with pytest.raises(CheckpointError):
            store.changes(name, name)


class TestDamagedStores:
    def test_a_lock_that_a_killed_git_left(self, store: CheckpointStore, workspace: Path, tmp_path: Path) -> None:
        store.capture()
        (tmp_path / "store/git/index.lock").write_text("")
        (workspace / "a").write_text("1")
        assert store.capture().is_new

    @pytest.mark.parametrize("damage", ["index", "rest of the index", "objects", "newest"])
    def test_a_damaged_store_goes_on(
        self, store: CheckpointStore, workspace: Path, tmp_path: Path, damage: str
    ) -> None:
        (workspace / "a").write_text("1")
        store.capture()
        if damage == "index":
            (tmp_path / "store/git/index").write_bytes(b"garbage")
        elif damage == "rest of the index":
            [rest] = (tmp_path / "store/git").glob("sharedindex.*")
            rest.unlink()
        elif damage == "newest":
            (tmp_path / "store/git/newest.json").write_bytes(b"{")
        else:
            subprocess.run(["rm", "-rf", tmp_path / "store/git/objects"], check=True)
            (tmp_path / "store/git/objects").mkdir()
        (workspace / "b").write_text("2")
        captured = store.capture()
        (workspace / "a").unlink()
        restore(store, captured.id)
        assert (workspace / "a").read_text() == "1"

    def test_ignore_rules_that_git_never_finishes_are_applied_all_the_same(
        self, store: CheckpointStore, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """git's matcher takes exponential time for such patterns."""
        monkeypatch.setattr("robota.workspace.checkpoints.scan.MAX_MATCHING_S", 1)
        deep = "/".join("a" * 40)
        for name in (f"{deep}/c", "kept", "x.log", "build/out", "sub/.git/HEAD", "sub/file", "sub/b.log", "old"):
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(name)
        first = store.capture().id
        (workspace / ".gitignore").write_text("**/a/" * 20 + "b\n*.log\n/build/\n!sub/b.log\n")
        for name in ("new", "build/more", "sub/new.log", f"{deep}/d"):
            (workspace / name).write_text(name)
        (workspace / "kept").write_text("changed")
        (workspace / "old").unlink()
        changed = [change.path for change in store.changes(first, store.capture().id)]
        assert sorted(changed) == [".gitignore", f"{deep}/d", "kept", "new", "old"]

    @pytest.mark.parametrize("moment", range(1, 14))
    def test_killed_while_saving(self, store: CheckpointStore, workspace: Path, tmp_path: Path, moment: int) -> None:
        """Whoever saves next saves what is there, also if nothing has changed since the other was killed."""
        for name in ("a", "b"):
            (workspace / name).write_text("old")
        store.capture()
        (workspace / "a").write_text("new")
        (workspace / "b").unlink()
        run_until(moment, store.capture)
        (tmp_path / "out").mkdir()
        saved = store.capture().id
        with store.opened() as opened:
            opened.check_out(saved, tmp_path / "out")
        assert tree_of(tmp_path / "out") == tree_of(workspace)

    def test_a_big_directory_that_nothing_ignores_is_no_trouble(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / ".gitignore").write_text("ignored/\n")
        for place in ("src", "ignored"):
            (workspace / place).mkdir()
            for number in range(2_001):
                (workspace / place / f"f{number}").touch()
        (workspace / "src/few").mkdir()
        captured = store.capture(["src", "src/few"])
        assert captured.details.not_captured == ()
        [trouble] = store.capture(["ignored"]).details.not_captured
        assert trouble.path == "ignored"

    def test_two_processes_save_at_the_same_time(self, store: CheckpointStore, workspace: Path) -> None:
        children = []
        for name in ("a", "b"):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    for number in range(5):
                        (workspace / name).write_text(str(number))
                        assert store.has(store.capture().id)
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
        newest = store.capture().id
        for path in workspace.iterdir():
            path.unlink()
        restore(store, newest)
        assert {path.name: path.read_text() for path in workspace.iterdir()} == {"a": "4", "b": "4"}

    def test_old_checkpoints_are_pruned(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "a").write_text("1")
        first = store.capture()
        (workspace / "a").write_text("2")
        second = store.capture()
        assert store.prune(4e9) == 1
        assert not store.has(first.id) and store.has(second.id)
        (workspace / "a").write_text("3")
        restore(store, second.id)
        assert (workspace / "a").read_text() == "2"

    def test_the_oldest_go_when_they_take_too_much_room(self, tmp_path: Path, workspace: Path) -> None:
        store = CheckpointStore(tmp_path / "store", workspace, os.environ, max_bytes=3_000_000)
        made = []
        for number in range(4):
            (workspace / "a").write_bytes(os.urandom(1_000_000))
            (workspace / "n").write_text(str(number))
            made.append(store.capture().id)
        assert store.prune(time.time()) == 2
        assert [store.has(each) for each in made] == [False, False, True, True]
        restore(store, made[2])
        assert (workspace / "n").read_text() == "2"

    def test_a_newest_checkpoint_that_is_too_big_is_kept(self, tmp_path: Path, workspace: Path) -> None:
        store = CheckpointStore(tmp_path / "store", workspace, os.environ, max_bytes=0)
        (workspace / "a").write_text("1")
        made = store.capture().id
        assert store.prune(time.time()) == 0 and store.has(made)

    def test_many_files_at_once_become_few_files_of_the_store(
        self, store: CheckpointStore, workspace: Path, tmp_path: Path
    ) -> None:
        for number in range(300):
            (workspace / f"f{number}").write_text(f"{number}\n" * 10)
        first = store.capture().id
        before = tree_of(workspace)
        assert len([path for path in (tmp_path / "store/git/objects").rglob("*") if path.is_file()]) < 10
        for path in workspace.iterdir():
            path.unlink()
        restore(store, first)
        assert tree_of(workspace) == before

    def test_packing_loses_nothing(
        self, store: CheckpointStore, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = []
        for number in range(5):
            (workspace / "a").write_text(f"{number}\n")
            made.append(store.capture().id)
        for limit in ("MAX_LOOSE_OBJECTS", "MAX_PACKS"):
            monkeypatch.setattr(packing, limit, 0)
            assert store.prune(time.time()) == 0
            files = [path for path in (tmp_path / "store/git/objects").rglob("*") if path.is_file()]
            assert {path.parent.name for path in files} == {"pack"}
            for number, each in enumerate(made):
                restore(store, each)
                assert (workspace / "a").read_text() == f"{number}\n"

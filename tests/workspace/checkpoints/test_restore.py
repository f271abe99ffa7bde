"""Restoring: the workspace is as it was, all or nothing, and it can be undone and redone."""

import os
import shutil
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.restore import JOURNAL_NAME
from robota.workspace.checkpoints.rewind import RestorePlan, carry_out, plan_restore
from robota.workspace.checkpoints.store import CheckpointStore
from tests.workspace.checkpoints.dying import run_until
from tests.workspace.checkpoints.restoring import restore, take_back
from tests.workspace.checkpoints.trees import Tree, tree_of
from tests.workspace.interleaving import EXCHANGE, acting

NAMES = ("a", "b", "d/x", "d/y", "d/e/z", "\udcff", "-f")
RESTORE_STEPS = frozenset({"link", "rename"})
CONTENTS = (b"", b"1", b"two\r\n", b"\x00\xff")


class TestRestore:
    def test_modes_links_and_directories(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "d/e").mkdir(parents=True)
        (workspace / "d/e/run").write_text("#!")
        (workspace / "d/e/run").chmod(0o755)
        (workspace / "private").write_text("p")
        (workspace / "private").chmod(0o600)
        (workspace / "link").symlink_to("d/e/nowhere")
        before = tree_of(workspace)
        first = store.capture()
        shutil.rmtree(workspace / "d")
        (workspace / "d").write_text("now a file")
        (workspace / "private").unlink()
        (workspace / "link").unlink()
        (workspace / "link").mkdir()
        (workspace / "link/x").write_text("x")
        after = tree_of(workspace)
        done = restore(store, first.id)
        assert tree_of(workspace) == before
        undone = take_back(store, done)
        assert tree_of(workspace) == after
        take_back(store, undone)
        assert tree_of(workspace) == before

    def test_a_mode_that_git_does_not_keep(self, store: CheckpointStore, workspace: Path) -> None:
        for name in ("a", "b"):
            (workspace / name).write_text("x")
            (workspace / name).chmod(0o664)
        first = store.capture(["a"])
        before = tree_of(workspace)
        (workspace / "a").chmod(0o600)
        after = tree_of(workspace)
        second = store.capture(["a"])
        assert second.is_new and not store.capture(["a"]).is_new
        assert b"old mode 100600\nnew mode 100664\n" in plan_restore(store, first.id).diff
        done = restore(store, first.id)
        assert tree_of(workspace) == before
        take_back(store, done)
        assert tree_of(workspace) == after

    def test_work_in_no_checkpoint_is_saved_first(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "a").write_text("old")
        first = store.capture()
        (workspace / "a").write_text("of the user")
        done = restore(store, first.id)
        assert done.saved_new_work
        assert (workspace / "a").read_text() == "old"
        restore(store, done.saved)
        assert (workspace / "a").read_text() == "of the user"

    def test_a_file_that_came_to_be_ignored_is_saved_first(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "a").write_text("old")
        first = store.capture()
        (workspace / "a").unlink()
        store.capture()
        (workspace / ".gitignore").write_text("a\n")
        (workspace / "a").write_text("of the user")
        done = restore(store, first.id)
        assert (workspace / "a").read_text() == "old"
        restore(store, done.saved)
        assert (workspace / "a").read_text() == "of the user"

    def test_only_some_paths(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "d").mkdir()
        for name in ("d/x", "dx", "y"):
            (workspace / name).write_text("old")
        first = store.capture()
        for name in ("d/x", "dx", "y"):
            (workspace / name).write_text("new")
        restore(store, first.id, ["d"])
        assert [(workspace / name).read_text() for name in ("d/x", "dx", "y")] == ["old", "new", "new"]

    @pytest.mark.parametrize("only", ["d/", "./d", "y/../d", "{root}/d"])
    def test_a_path_may_be_written_in_any_way(self, store: CheckpointStore, workspace: Path, only: str) -> None:
        (workspace / "d").mkdir()
        (workspace / "d/x").write_text("old")
        first = store.capture()
        for name in ("d/x", "y"):
            (workspace / name).write_text("new")
        restore(store, first.id, [only.format(root=workspace)])
        assert ((workspace / "d/x").read_text(), (workspace / "y").read_text()) == ("old", "new")
        restore(store, first.id, ["."])
        assert not (workspace / "y").exists()

    @pytest.mark.parametrize("only", ["..", "../x", "/etc/passwd", "d/../../x"])
    def test_a_path_outside_is_refused(self, store: CheckpointStore, workspace: Path, only: str) -> None:
        first = store.capture()
        with pytest.raises(CheckpointError, match="is not in the workspace"):
            plan_restore(store, first.id, [only])

    def test_a_plan_changes_nothing(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "a").write_text("old\n")
        first = store.capture()
        (workspace / "a").write_text("new\n")
        plan = plan_restore(store, first.id)
        assert b"-new\n+old\n" in plan.diff
        assert (workspace / "a").read_text() == "new\n"

    def test_what_is_too_big_now_is_left(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "a").write_text("old")
        (workspace / "b").write_text("old")
        first = store.capture()
        (workspace / "a").write_bytes(b"x" * 100_001)
        (workspace / "b").write_text("new")
        done = restore(store, first.id)
        assert [each.path for each in done.left] == ["a"]
        assert (workspace / "a").stat().st_size == 100_001 and (workspace / "b").read_text() == "old"

    def test_a_plan_is_for_the_workspace_as_it_was_seen(self, store: CheckpointStore, workspace: Path) -> None:
        (workspace / "a").write_text("old\n")
        first = store.capture()
        (workspace / "a").write_text("new\n")
        plan = plan_restore(store, first.id)
        (workspace / "a").write_text("newer\n")
        with pytest.raises(CheckpointError, match="Nothing was restored"):
            carry_out(store, plan)
        assert (workspace / "a").read_text() == "newer\n"
        (workspace / "a").write_text("new\n")
        (workspace / "a").chmod(0o600)
        with pytest.raises(CheckpointError, match="Nothing was restored"):
            carry_out(store, plan)
        (workspace / "a").chmod(0o644)
        (workspace / "of_others").write_text("is no matter")
        carry_out(store, plan)
        assert (workspace / "a").read_text() == "old\n" and (workspace / "of_others").exists()


class TestAllOrNothing:
    def changed(self, store: CheckpointStore, workspace: Path) -> str:
        (workspace / "d").mkdir()
        for name in ("a", "b", "d/x", "mode"):
            (workspace / name).write_text("old")
        (workspace / "link").symlink_to("a")
        first = store.capture()
        (workspace / "a").write_text("new")
        (workspace / "b").unlink()
        (workspace / "d/x").unlink()
        (workspace / "mode").chmod(0o755)
        (workspace / "link").unlink()
        (workspace / "link").symlink_to("b")
        return first.id

    def test_an_ignored_file_in_the_way_is_saved_first(self, store: CheckpointStore, workspace: Path) -> None:
        first = self.changed(store, workspace)
        (workspace / ".gitignore").write_text("kept\n")
        (workspace / "b").mkdir()
        (workspace / "b/kept").write_text("of the user")
        done = restore(store, first)
        assert (workspace / "b").read_text() == "old"
        take_back(store, done)
        assert (workspace / "b/kept").read_text() == "of the user"

    def test_something_in_the_way_that_cannot_be_saved(self, store: CheckpointStore, workspace: Path) -> None:
        first = self.changed(store, workspace)
        (workspace / "b").mkdir()
        os.mkfifo(workspace / "b/pipe")
        before = tree_of(workspace)
        with pytest.raises(CheckpointError, match="Nothing was changed"):
            restore(store, first)
        assert tree_of(workspace) == before

    def test_content_that_is_gone_from_the_store(self, store: CheckpointStore, workspace: Path, tmp_path: Path) -> None:
        first = self.changed(store, workspace)
        content = next(each.before.content for each in store.changes(first, store.capture().id) if each.before)
        (tmp_path / "store/git/objects" / content[:2] / content[2:]).unlink()
        before = tree_of(workspace)
        with pytest.raises(CheckpointError):
            restore(store, first)
        assert tree_of(workspace) == before

    def test_a_store_that_cannot_note_the_result_any_more(
        self, store: CheckpointStore, workspace: Path, tmp_path: Path
    ) -> None:
        """The files are restored by then: that is no failure, and it can be undone."""
        first = self.changed(store, workspace)
        before = tree_of(workspace)
        plan = plan_restore(store, first)
        obstacle = tmp_path / "store/git/newest.json.new"
        obstacle.mkdir()
        carry_out(store, plan)
        assert tree_of(workspace) == {**before, **_old()}
        obstacle.rmdir()
        take_back(store, plan)
        assert tree_of(workspace) == before

    def test_a_restored_workspace_has_no_new_work(self, store: CheckpointStore, workspace: Path) -> None:
        first = self.changed(store, workspace)
        restore(store, first)
        assert not store.capture().is_new
        assert not plan_restore(store, first).saved_new_work

    @pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
    def test_a_directory_that_cannot_be_written(self, store: CheckpointStore, workspace: Path) -> None:
        first = self.changed(store, workspace)
        before = tree_of(workspace)
        (workspace / "d").chmod(0o500)
        with pytest.raises(CheckpointError):
            restore(store, first)
        (workspace / "d").chmod(0o700)
        assert tree_of(workspace) == before

    @pytest.mark.parametrize("stop_at", range(1, 60, 2))
    def test_killed_in_the_middle(self, store: CheckpointStore, workspace: Path, stop_at: int) -> None:
        first = self.changed(store, workspace)
        before = tree_of(workspace)
        store.capture()
        run_until(stop_at, lambda: restore(store, first))
        store.capture()
        assert tree_of(workspace) in (before, {**before, **_old()})

    def test_the_record_of_an_interrupted_restore_counts_only_as_it_was_written(
        self, store: CheckpointStore, workspace: Path, tmp_path: Path
    ) -> None:
        """It says what to put back from a directory in the workspace, which commands can write."""
        first = self.changed(store, workspace)
        store.capture()
        record = tmp_path / "store" / JOURNAL_NAME
        for stop_at in range(1, 60):
            run_until(stop_at, lambda: restore(store, first))
            if record.exists() and list(workspace.glob(".robota-restore-*")):
                break
        record.write_bytes(record.read_bytes().replace(b'"old":true', b'"old":false'))
        before = tree_of(workspace)
        with pytest.raises(CheckpointError, match="was refused"):
            store.capture()
        assert tree_of(workspace) == before
        store.capture()

    def test_a_file_that_somebody_else_writes_meanwhile_is_theirs(
        self, store: CheckpointStore, workspace: Path, tmp_path: Path
    ) -> None:
        """By renaming a new file over it, or by appending to the open one, at any moment."""
        file = workspace / "a"
        file.write_text("old\n")
        first = store.capture()
        file.write_text("new\n")
        plan = plan_restore(store, first.id)

        def rename_over() -> None:
            (tmp_path / "theirs").write_text("theirs\n")
            (tmp_path / "theirs").rename(file)

        for moment in count():
            file.write_text("new\n")
            with suppress(CheckpointError), acting({moment: rename_over}, RESTORE_STEPS) as steps:
                carry_out(store, plan)
            if len(steps) <= moment:  # how many there are depends on whether the store has the result already
                break
            assert file.read_text() == "theirs\n", steps[moment]
        assert {"link", EXCHANGE, "rename"} <= set(steps)
        file.write_text("new\n")
        with file.open("a") as program:
            with pytest.raises(CheckpointError, match="just now"):
                carry_out(store, plan)
            program.write("more\n")
        assert file.read_text() == "new\nmore\n"


def _old() -> Tree:
    return {**dict.fromkeys((b"a", b"b", b"d/x", b"mode"), ("644", b"old")), b"link": ("link", b"a")}


Step = tuple[Any, ...]
Wanted = dict[bytes, tuple[str, bytes] | None]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(CONTENTS), st.booleans()),
        st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from(CONTENTS[1:2])),
        st.tuples(st.just("remove"), st.sampled_from(NAMES)),
        st.tuples(st.just("capture")),
        st.tuples(st.just("restore"), st.integers(0, 9), st.sampled_from(((), ("a",), ("d",)))),
        st.tuples(st.just("undo")),
        st.tuples(st.just("redo")),
    ),
    max_size=14,
)


class Model:
    """A workspace as a dictionary, with its checkpoints and what can be undone and redone."""

    def __init__(self) -> None:
        self.files: Tree = {}
        self.checkpoints: list[tuple[str, Tree]] = []
        self.undo: list[tuple[RestorePlan, Wanted]] = []
        self.redo: list[tuple[RestorePlan, Wanted]] = []

    def put_back(self, wanted: Wanted) -> Wanted:
        """Set these paths; says how those were that had to be changed for it."""
        was = {path: self.files.get(path) for path, file in wanted.items() if self.files.get(path) != file}
        for path, file in wanted.items():
            self.files.pop(path, None)
            if file is not None:
                self.files[path] = file
        return was


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_any_interleaving_equals_a_dictionary(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as place:
        workspace = Path(place, "work")
        workspace.mkdir()
        store = CheckpointStore(Path(place, "store"), workspace, os.environ)
        model = Model()
        for step in steps:
            take(step, model, store, workspace)
            assert tree_of(workspace) == model.files, step


def take(step: Step, model: Model, store: CheckpointStore, workspace: Path) -> None:
    match step:
        case ("write", name, data, executable):
            clear(workspace / name)
            (workspace / name).write_bytes(data)
            mode = 0o755 if executable else 0o644
            (workspace / name).chmod(mode)
            model.files[os.fsencode(name)] = (f"{mode:o}", data)
        case ("link", name, target):
            clear(workspace / name)
            (workspace / name).symlink_to(os.fsdecode(target))
            model.files[os.fsencode(name)] = ("link", target)
        case ("remove", name):
            (workspace / name).unlink(missing_ok=True)
            model.files.pop(os.fsencode(name), None)
        case ("capture",):
            model.checkpoints.append((store.capture().id, dict(model.files)))
        case ("restore", number, only) if model.checkpoints:
            checkpoint, files = model.checkpoints[number % len(model.checkpoints)]
            chosen = {path: files.get(path) for path in {*files, *model.files} if fits(path, only)}
            differing = {path: file for path, file in chosen.items() if file != model.files.get(path)}
            done = restore(store, checkpoint, only)
            model.undo.append((done, model.put_back(differing)))
            model.redo.clear()
        case ("undo",) if model.undo:
            done, wanted = model.undo.pop()
            model.redo.append((take_back(store, done), model.put_back(wanted)))
        case ("redo",) if model.redo:
            done, wanted = model.redo.pop()
            model.undo.append((take_back(store, done), model.put_back(wanted)))


def fits(path: bytes, only: tuple[str, ...]) -> bool:
    return not only or any(path == name.encode() or path.startswith(name.encode() + b"/") for name in only)


def clear(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)

"""A program runs files of the workspace only as the user agreed to them; whatever changed since then stops it."""

import os
import time
from pathlib import Path

import pytest

from robota.workspace.outside_code import code_parts
from robota.workspace.outside_code.code_search import NamedProgram
from robota.workspace.outside_code.outside_code import CodeRefused, OutsideCode


class Place:
    def __init__(self, directory: Path) -> None:
        self.root = directory / "ws"
        self.env = {"ROBOTA_HOME": str(directory / "home"), "HOME": str(directory)}
        self.root.mkdir()

    def write(self, name: str, text: str = "") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def code(self, *, is_trusted: bool = True, attended: bool = True) -> OutsideCode:
        return OutsideCode(self.root, self.env, is_trusted=is_trusted, attended=attended)

    def program(self, command: str) -> NamedProgram:
        return NamedProgram(label=f"hook {command!r}", argv=("/bin/sh", "-c", command), cwd=self.root)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_changed_script_does_not_run_in_this_session_or_the_next(place: Place) -> None:
    script = place.write("scripts/fmt.sh", "one")
    program = place.program("scripts/fmt.sh")
    assert script in place.code().verify(program).files
    script.write_text("two")
    for session in (place.code(), place.code()):
        with pytest.raises(CodeRefused, match=r"scripts/fmt.sh changed since you agreed .* robota trust"):
            session.verify(program)
    script.write_text("one")
    assert place.code().verify(program)


def test_a_change_that_keeps_size_and_time_is_seen(place: Place) -> None:
    script = place.write("fmt.sh", "one")
    program, at = place.program("./fmt.sh"), script.stat()
    place.code().verify(program)
    script.write_text("eno")
    os.utime(script, ns=(at.st_atime_ns, at.st_mtime_ns))
    with pytest.raises(CodeRefused):
        place.code().verify(program)


def test_what_a_script_loads_counts_too(place: Place) -> None:
    place.write("tools/hook.py", "import common\nimport json\n")
    common, program = place.write("tools/common.py"), place.program("python3 tools/hook.py")
    place.code().verify(program)
    common.write_text("changed")
    with pytest.raises(CodeRefused, match=r"tools/common.py"):
        place.code().verify(program)
    common.write_text("")
    place.write("tools/json.py", "planted")
    with pytest.raises(CodeRefused, match=r"tools/json.py"):
        place.code().verify(program)


def test_a_module_planted_under_a_name_that_nobody_read_is_seen(place: Place) -> None:
    place.write("tools/hook.py", "import json\n")
    program = place.program("python3 tools/hook.py")
    place.code().verify(program)
    place.write("tools/decimal.py", "imported by something else")
    with pytest.raises(CodeRefused, match="names of its Python modules"):
        place.code().verify(program)


def test_compiled_files_of_the_workspace_are_not_loaded(place: Place) -> None:
    place.write("tools/hook.py")
    variables = place.code().verify(place.program("python3 tools/hook.py")).variables
    assert not Path(variables["PYTHONPYCACHEPREFIX"]).is_relative_to(place.root)


def test_a_missing_script_that_appears_does_not_run(place: Place) -> None:
    program = place.program("./later.sh")
    code = place.code()
    code.add(program)
    code.begin()
    assert place.root / "later.sh" in code.protected()
    place.write("later.sh", "planted")
    for session in (code, place.code()):
        with pytest.raises(CodeRefused, match=r"later.sh"):
            session.verify(program)


def test_a_virtual_environment_counts_as_a_whole(place: Place) -> None:
    place.write(".venv/pyvenv.cfg")
    place.write(".venv/bin/tool")
    library, program = place.write(".venv/lib/site-packages/tool.py", "one"), place.program(".venv/bin/tool x")
    assert place.root / ".venv" in place.code().verify(program).files
    place.write(".venv/lib/site-packages/__pycache__/tool.pyc", "written while it runs")
    place.code().verify(program)
    at = library.stat()
    _tick(library)
    library.write_text("two")
    os.utime(library, ns=(at.st_atime_ns, at.st_mtime_ns))
    with pytest.raises(CodeRefused, match=r"\.venv/ \(the whole directory\)"):
        place.code().verify(program)


def _tick(file: Path) -> None:
    """Wait until the clock of the file system has moved on."""
    before, probe = file.stat().st_ctime_ns, file.with_suffix(".probe")
    while True:
        probe.write_text("")
        now = probe.stat().st_ctime_ns
        probe.unlink()
        if now > before:
            return
        time.sleep(0)


def test_a_link_that_leads_elsewhere_is_a_change(place: Place) -> None:
    place.write("a.sh", "same")
    place.write("b.sh", "same")
    link, program = place.root / "link.sh", place.program("./link.sh")
    link.symlink_to("a.sh")
    place.code().verify(program)
    link.unlink()
    link.symlink_to("b.sh")
    with pytest.raises(CodeRefused, match=r"link.sh"):
        place.code().verify(program)


def test_an_untrusted_workspace_runs_nothing_of_its_own(place: Place) -> None:
    place.write("fmt.sh")
    with pytest.raises(CodeRefused, match="not trusted"):
        place.code(is_trusted=False).verify(place.program("./fmt.sh"))
    assert place.code(is_trusted=False).verify(place.program("true"))


def test_what_cannot_be_protected_runs_only_attended_and_is_said(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    program = place.program("pytest -q")
    attended, alone = place.code(), place.code(attended=False)
    attended.add(program)
    assert "is not protected" in attended.begin()[0]
    with pytest.raises(CodeRefused, match="nobody attends"):
        alone.verify(program)
    monkeypatch.setattr(code_parts, "MAX_TREE_ENTRIES", 3)
    for number in range(5):
        place.write(f"node_modules/p{number}.js")
    place.write("package.json", "{}")
    with pytest.raises(CodeRefused, match=r"node_modules has more than 3 entries"):
        alone.verify(place.program("npx prettier"))


def test_agreeing_again_shows_the_difference_and_lets_it_run(place: Place) -> None:
    script, program = place.write("fmt.sh", "one\n"), place.program("./fmt.sh")
    code = place.code()
    code.add(program)
    code.begin()
    script.write_text("two\n")
    changed = code.changed()[0]
    assert (changed.changes[0].before, changed.changes[0].after) == (b"one\n", b"two\n")
    place.code().agree(changed.program, changed.parts)
    assert code.verify(program) and not code.changed(), "a session that runs notices the answer"


def test_where_nothing_can_be_saved_the_session_still_compares(place: Place, tmp_path: Path) -> None:
    script, program = place.write("fmt.sh", "one"), place.program("./fmt.sh")
    (tmp_path / "home").write_text("a file where the directory should be")
    code = place.code()
    try:
        code.verify(program)
    except CodeRefused:
        return  # the answers cannot even be read: nothing runs
    script.write_text("two")
    with pytest.raises(CodeRefused):
        code.verify(program)

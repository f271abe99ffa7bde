"""A workspace that is the home, or contains it: commands run only if the user says so, and change nothing that runs."""

from pathlib import Path

import pytest

from robota.workspace.problems import CommandNotStarted
from robota.workspace.sandbox.backend import SandboxKind
from robota.workspace.sandbox.session_sandbox import HomeSettings, SessionSandbox
from tests.workspace.sandbox.cells import Cell
from tests.workspace.sandbox.home.planted import live_in, write

RUN_AT_START = (
    *(".zshenv", ".bashrc", ".profile", ".config/autostart/a.desktop", ".local/bin/ls", ".ssh/authorized_keys"),
    *(".config/systemd/user/a.service", ".config/fish/config.fish", ".pam_environment", ".local/share/applications/a"),
)


@pytest.mark.parametrize("above", [False, True])
def test_commands_are_refused_in_a_home_unless_the_user_says_so(tmp_path: Path, *, above: bool) -> None:
    home = tmp_path / "user"
    home.mkdir()
    root = tmp_path if above else home
    sandbox = SessionSandbox(root, home=home)
    with pytest.raises(CommandNotStarted, match=r"sandbox\.homeAsWorkspace"):
        sandbox.wrap(["true"], root)
    sandbox.close()
    willing = SessionSandbox(root, home=home, home_settings=HomeSettings(as_workspace=True))
    willing.wrap(["true"], root).clean_up()
    willing.close()


@pytest.mark.parametrize("present", [False, True])
def test_what_runs_at_the_start_can_be_neither_changed_nor_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, present: bool
) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    (cell.home / ".ssh/id").unlink()
    (cell.home / ".ssh").rmdir()
    cell.root = cell.home
    write(cell.home, {"notes": "old\n", **(dict.fromkeys(RUN_AT_START, "old\n") if present else {})})
    live_in(cell, monkeypatch)
    tries = "; ".join(f"mkdir -p $(dirname {name}); echo new > {name}" for name in RUN_AT_START)
    if present:  # a file that was created must not be removed again before we look
        tries += f"; rm -rf {' '.join(RUN_AT_START)}; mv .config .moved; mv .local .moved2"
    cell.run(f"{tries}; echo new > notes")
    assert (cell.home / "notes").read_text() == "new\n"
    for name in RUN_AT_START:
        assert (cell.home / name).exists() == present, name
        assert not present or (cell.home / name).read_text() == "old\n", name

"""Editors, pagers and clipboard programs run as the user, so none is taken from a directory that commands can write."""

import asyncio
from pathlib import Path

import pytest

from robota.cli.run.attachments import clipboard_image
from robota.clients.tui.attached_files import NotAttached
from robota.workspace.process.pager import page_text
from robota.workspace.user_programs.editor import EditorProblem, edit_text


@pytest.fixture
def planted(workspace: Path) -> Path:
    """Programs in an active virtual environment of the workspace; each leaves a file if it is run."""
    directory = workspace / ".venv" / "bin"
    directory.mkdir(parents=True)
    for name in ("nano", "less", "wl-paste"):
        _program(directory / name, ': >"$0.was-run"')
    return directory


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def was_run(planted: Path) -> list[Path]:
    return list(planted.glob("*.was-run"))


def test_the_editor_outside_the_workspace_is_used(planted: Path, workspace: Path, tmp_path: Path) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    _program(own / "nano", 'printf changed >"$1"')
    env = {"PATH": f"{planted}:{own}:/usr/bin:/bin"}
    assert asyncio.run(edit_text("text", env, workspace)) == "changed"
    assert not was_run(planted)


@pytest.mark.parametrize("editor", ["nano-of-the-project", "{planted}/nano-of-the-project", "sh {workspace}/edit.sh"])
def test_an_editor_of_the_workspace_does_not_run(planted: Path, workspace: Path, editor: str) -> None:
    _program(planted / "nano-of-the-project", ': >"$0.was-run"')
    _program(workspace / "edit.sh", ': >"$0.was-run"')
    env = {"PATH": f"{planted}:/usr/bin:/bin", "EDITOR": editor.format(planted=planted, workspace=workspace)}
    with pytest.raises(EditorProblem, match="workspace"):
        asyncio.run(edit_text("text", env, workspace))
    assert not was_run(planted) and not was_run(workspace)


def test_the_clipboard_is_not_read_by_a_program_of_the_workspace(planted: Path, workspace: Path) -> None:
    env = {"PATH": str(planted), "WAYLAND_DISPLAY": "wayland-0"}
    assert isinstance(asyncio.run(clipboard_image(env, workspace)), NotAttached)
    assert not was_run(planted)


def test_a_long_text_is_not_shown_by_a_pager_of_the_workspace(
    planted: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    page_text("line\n" * 500, {"PATH": str(planted), "TERM": "xterm"})
    assert capsys.readouterr().out == "line\n" * 500
    assert not was_run(planted)

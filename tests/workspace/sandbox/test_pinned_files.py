"""Files that a command must find as they were approved, whatever is in the workspace when it starts."""

import subprocess
from pathlib import Path

import pytest

from robota.workspace.entry_files.entry import PinnedFile
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.wrapped_command import SandboxAccess
from robota.workspace.sandbox.session_sandbox import SessionSandbox


def run(root: Path, command: str, *pinned: PinnedFile) -> str:
    sandbox = SessionSandbox(root, home=None)
    try:
        if sandbox.backend.kind != "bubblewrap":
            pytest.skip("no bubblewrap")
        wrapped = sandbox.wrap(["/bin/bash", "-c", command], root, SandboxAccess(pinned=pinned))
        try:
            done = subprocess.run(
                wrapped.argv, pass_fds=wrapped.descriptors, cwd=root, capture_output=True, text=True, check=False
            )
        finally:
            wrapped.clean_up()
    finally:
        sandbox.close()
    return done.stdout + done.stderr


def test_a_script_that_was_changed_after_it_was_approved_runs_as_approved(workspace: Path) -> None:
    script = workspace / "deep" / "x.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho evil\n")
    approved = PinnedFile(path="deep/x.sh", data=b"#!/bin/sh\necho approved\n", is_executable=True)
    assert run(workspace, "deep/x.sh; cd deep && ./x.sh", approved) == "approved\napproved\n"
    assert script.read_text() == "#!/bin/sh\necho evil\n"


@pytest.mark.parametrize(
    "change", ["echo x > f", "rm -f f", "mv f g", "chmod 777 f", "mv d e", "ln -f g f", "cp -f g f"]
)
def test_the_command_cannot_change_it(workspace: Path, change: str) -> None:
    (workspace / "d").mkdir()
    (workspace / "g").write_text("other")
    for name in ("f", "d/f"):
        (workspace / name).write_text("same")
    pinned = [PinnedFile(path=name, data=b"same") for name in ("f", "d/f")]
    run(workspace, f"{change}; true", *pinned)
    assert (workspace / "f").read_text() == (workspace / "d" / "f").read_text() == "same"


@pytest.mark.parametrize("instead", ["nothing", "link", "directory"])
def test_a_file_that_was_replaced_is_not_run(workspace: Path, tmp_path: Path, instead: str) -> None:
    match instead:
        case "link":
            (tmp_path / "elsewhere").write_text("x")
            (workspace / "f").symlink_to(tmp_path / "elsewhere")
        case "directory":
            (workspace / "f").mkdir()
        case _:
            pass
    pinned = PinnedFile(path="f", data=b"approved")
    try:
        output = run(workspace, "cat f", pinned)
    except CommandNotStarted:
        return
    assert output == "approved" or "bwrap" in output or "not run" in output
    if instead == "link":
        assert (tmp_path / "elsewhere").read_text() == "x"

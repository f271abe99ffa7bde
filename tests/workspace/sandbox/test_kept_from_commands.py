"""What is hidden from the model is not seen by a sandboxed command, whatever program reads it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from robota.workspace.problems import CommandNotStarted
from robota.workspace.sandbox.session_sandbox import MAX_HIDDEN, SessionSandbox
from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.programs import needs

SHOW = """
for name in ("denied.txt", "ignored.txt", ".env", "certs/test.pem", "plain.txt"):
    try:
        print(open(name).read())
    except OSError as error:
        print(error)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    for name in ("kept/a", "kept/b", "open/.env", "open/file"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("TELLTALE" if name != "open/file" else "fine")
    return root


def run(sandbox: SessionSandbox, command: str, root: Path) -> str:
    wrapped = sandbox.wrap(["/bin/sh", "-c", command], root)
    try:
        done = subprocess.run(
            wrapped.argv, pass_fds=wrapped.descriptors, cwd=root, capture_output=True, text=True, check=False
        )
    finally:
        wrapped.clean_up()
    return done.stdout + done.stderr


def test_files_and_directories_are_out_of_sight(place: Path) -> None:
    sandbox = SessionSandbox(place, home=None)
    sandbox.hide_from_commands(lambda: ("kept", "open/.env"))
    try:
        if sandbox.backend.kind != "bubblewrap":
            pytest.skip("only bubblewrap hides single files")
        shown = run(
            sandbox, "cat kept/* open/.env open/file; cp -r open copy; cat copy/.env; mv open/.env x; ls kept", place
        )
        assert "TELLTALE" not in shown and "fine" in shown
        assert (place / "open/.env").read_text() == "TELLTALE"
    finally:
        sandbox.close()


def test_what_was_moved_is_found_again(place: Path) -> None:
    sandbox = SessionSandbox(place, home=None)
    sandbox.hide_from_commands(lambda: tuple(str(found.relative_to(place)) for found in place.rglob(".env")))
    try:
        if sandbox.backend.kind != "bubblewrap":
            pytest.skip("only bubblewrap hides single files")
        run(sandbox, "mv open elsewhere", place)
        assert "TELLTALE" not in run(sandbox, "cat elsewhere/.env", place)
    finally:
        sandbox.close()


@pytest.mark.parametrize("found", [None, tuple(f"f{number}" for number in range(MAX_HIDDEN + 1))])
def test_no_command_runs_where_not_all_can_be_hidden(place: Path, found: tuple[str, ...] | None) -> None:
    for name in found or ():
        (place / name).write_text("TELLTALE")
    sandbox = SessionSandbox(place, home=None)
    sandbox.hide_from_commands(lambda: found)
    try:
        if sandbox.backend.kind != "bubblewrap":
            pytest.skip("only bubblewrap hides single files")
        with pytest.raises(CommandNotStarted, match="was not run"):
            sandbox.wrap(["/bin/true"], place)
    finally:
        sandbox.close()


def test_many_hidden_files_hide_their_directory_and_it_is_told(place: Path) -> None:
    names = tuple(f"many/f{number}" for number in range(MAX_HIDDEN))
    (place / "many").mkdir()
    for name in (*names, "many/other"):
        (place / name).write_text("TELLTALE")
    sandbox = SessionSandbox(place, home=None)
    sandbox.hide_from_commands(lambda: names)
    told: list[tuple[str, str]] = []
    sandbox.on_detected(lambda kind, reason: told.append((kind, reason)))
    try:
        if sandbox.backend.kind != "bubblewrap":
            pytest.skip("only bubblewrap hides single files")
        assert "TELLTALE" not in run(sandbox, "cat many/*", place)
        assert told[-1][0] == "bubblewrap" and "'many'" in told[-1][1]
    finally:
        sandbox.close()


def shown(robota: Robota, command: str, **permissions: Any) -> str:
    script(robota, {"calls": [call("execute_command", command=command)]}, {"text": "done"})
    settings = robota.home / ".robota/settings.json"
    values = json.loads(settings.read_text())
    allow = [*permissions.pop("allow", ()), "Bash(python3 *)"]
    settings.write_text(json.dumps({**values, "permissions": {"allow": allow, **permissions}}))
    assert robota("trust", "--yes").code == 0
    return robota("-p", "go", "--output-format", "stream-json", "--verbose").stdout


@needs("bwrap")
def test_an_allowed_program_cannot_print_what_is_kept(robota: Robota) -> None:
    """Denied by a rule, listed in `.robotaignore`, or named like a secret and unknown to git."""
    root = robota.workspace
    (root / "certs").mkdir()
    for name in ("denied.txt", "ignored.txt", ".env", "certs/test.pem", "plain.txt"):
        (root / name).write_text(f"TELLTALE of {name}\n")
    (root / ".robotaignore").write_text("ignored.txt\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "certs", "plain.txt"], cwd=root, check=True)
    (root / "show.py").write_text(SHOW)
    output = shown(robota, "python3 show.py", deny=["Read(denied.txt)"])
    if "sandbox" in output and "bubblewrap" not in output:
        pytest.skip("only bubblewrap hides single files")
    assert "TELLTALE of plain.txt" in output and "TELLTALE of certs/test.pem" in output
    for name in ("denied.txt", "ignored.txt", ".env"):
        assert f"TELLTALE of {name}" not in output
    assert "TELLTALE of .env" in shown(robota, "python3 show.py", allow=["Read(.env)"])


@pytest.mark.parametrize(("is_changed", "is_seen"), [(False, True), (True, False)])
def test_policy_and_sandbox_agree_about_a_secret_that_git_tracks(
    robota: Robota, is_changed: bool, is_seen: bool
) -> None:
    """As published it is no secret; filled in by the user, it is kept from the model and from commands."""
    root = robota.workspace
    (root / ".env").write_text("KEY=placeholder\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", ".env"], cwd=root, check=True)
    if is_changed:
        (root / ".env").write_text("KEY=TELLTALE\n")
    (root / "show.py").write_text("print(open('.env').read())")
    output = shown(robota, "python3 show.py")
    if "bubblewrap" not in output:
        pytest.skip("only bubblewrap hides single files")
    assert ("placeholder" in output) == is_seen and "TELLTALE" not in output
    for how in (["--", "cat .env"], ["--", "git diff"], ["--tool", "read_file", "--args", '{"path": ".env"}']):
        judged = json.loads(robota("policy", "explain", "--json", *how).stdout)
        assert judged["verdict"] == ("allow" if is_seen else "ask"), how


@needs("bwrap")
@pytest.mark.parametrize("command", ["cat sub/private.txt", "python3 sub/show.py", "grep -r TELL sub"])
def test_an_ignore_file_below_counts_though_git_does_not_know_it(robota: Robota, command: str) -> None:
    sub = robota.workspace / "sub"
    sub.mkdir()
    (sub / ".robotaignore").write_text("private.txt\n")
    (sub / "private.txt").write_text("TELLTALE")
    (sub / "show.py").write_text("print(open('sub/private.txt').read())\n")
    script(robota, {"calls": [call("execute_command", command=command)]}, {"text": "Done."})
    done = robota("-p", "go", "--allowed-tools", "Bash", "--output-format", "stream-json")
    assert done.code == 0 and "TELLTALE" not in done.stdout


@needs("bwrap")
def test_an_ignore_file_below_an_added_directory_counts(robota: Robota) -> None:
    added = robota.workspace.parent / "added"
    (added / "sub").mkdir(parents=True)
    (added / "sub/.robotaignore").write_text("private.txt\n")
    (added / "sub/private.txt").write_text("TELLTALE")
    (added / "sub/public.txt").write_text("SHOWN")
    command = f"for each in {added}/sub/*; do cat $each; done"
    script(robota, {"calls": [call("execute_command", command=command)]}, {"text": "Done."})
    done = robota("-p", "go", "--allowed-tools", "Bash", "--add-dir", str(added), "--output-format", "stream-json")
    assert "SHOWN" in done.stdout and "TELLTALE" not in done.stdout

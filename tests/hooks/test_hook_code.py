"""Hooks run outside the sandbox: nothing that the agent wrote without being asked runs with them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from robota.workspace.outside_code.code_search import NamedProgram
from robota.workspace.outside_code.outside_code import CodeRefused, OutsideCode
from tests.cli.scripts import call, script, trust
from tests.harness.cli import Robota
from tests.harness.programs import needs
from tests.workspace.sandbox.cells import landlock_abi

HONEST = '#!/bin/sh\necho honest >> "$CLAUDE_PROJECT_DIR/../witness"\n'
PLANTED = '#!/bin/sh\necho planted >> "$CLAUDE_PROJECT_DIR/../witness"\n'


def write(robota: Robota, name: str, text: str = HONEST) -> Path:
    path = robota.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def hooked(robota: Robota, command: str, *turns: dict[str, Any], event: str = "Stop", trusted: bool = True) -> None:
    """A user with this hook; the model does these things."""
    script(robota, *turns)
    if trusted:
        trust(robota)
    path = robota.home / ".robota/settings.json"
    settings = json.loads(path.read_text())
    settings["hooks"] = {event: [{"hooks": [{"type": "command", "command": command}]}]}
    path.write_text(json.dumps(settings))


def witness(robota: Robota) -> list[str]:
    path = robota.workspace.parent / "witness"
    return path.read_text().split() if path.exists() else []


def told(robota: Robota, *arguments: str) -> str:
    done = robota("-p", "go", *arguments)
    return " ".join((done.stdout + done.stderr).split())


def test_an_edit_of_a_hook_script_is_asked_about_even_where_edits_are_accepted(robota: Robota) -> None:
    write(robota, "scripts/fmt.sh")
    edit = call("write_to_file", path="scripts/fmt.sh", content=PLANTED)
    hooked(robota, "scripts/fmt.sh", {"calls": [edit]}, {"text": "done"})
    words = told(robota, "--permission-mode", "acceptEdits", "--verbose")
    assert (robota.workspace / "scripts/fmt.sh").read_text() == HONEST, words
    assert witness(robota) == ["honest"]
    assert "runs it outside the sandbox" in words


@needs("bwrap")
@pytest.mark.parametrize(
    "attack",
    (
        "printf '#!/bin/sh\\necho planted >> ../witness\\n' > scripts/fmt.sh",
        "mv scripts old; mkdir scripts; cp planted.sh scripts/fmt.sh",
        "rm -rf scripts; cp -r other scripts",
        "ln -sf ../planted.sh scripts/fmt.sh",
        "printf 'echo planted >> ../witness\\n' > scripts/lib.sh",
    ),
)
def test_a_sandboxed_command_cannot_make_a_hook_run_what_it_wrote(robota: Robota, attack: str) -> None:
    write(robota, "scripts/fmt.sh", HONEST + '. "$(dirname "$0")/lib.sh"\n')
    write(robota, "scripts/lib.sh", ":\n")
    write(robota, "planted.sh", PLANTED)
    write(robota, "other/fmt.sh", PLANTED)
    # In a script, where policy does not see what it does.
    write(robota, "attack.sh", f"touch attacked\n{attack}\n")
    command = call("execute_command", command="sh attack.sh")
    hooked(robota, "scripts/fmt.sh", {"calls": [command]}, {"text": "done"})
    told(robota, "--permission-mode", "acceptEdits", "--allowed-tools", "Bash")
    assert (robota.workspace / "attacked").exists()
    assert witness(robota) == ["honest"]


def test_under_landlock_a_rewritten_script_is_noticed_in_the_same_session(robota: Robota, tmp_path: Path) -> None:
    """There, commands can change files of the workspace; comparing them before each run is what holds."""
    if landlock_abi() < 1:
        pytest.skip("this kernel has no Landlock")
    programs = tmp_path / "programs"
    programs.mkdir()
    for each in Path("/usr/bin").iterdir():
        if each.name != "bwrap":
            (programs / each.name).symlink_to(each)
    write(robota, "scripts/fmt.sh")
    write(robota, "planted.sh", PLANTED)
    attack = call("execute_command", command="cp planted.sh scripts/fmt.sh && echo rewritten")
    hooked(robota, "scripts/fmt.sh", {"calls": [attack]}, {"text": "done"})
    done = robota("-p", "go", "--allowed-tools", "Bash", "--verbose", env={"PATH": str(programs)})
    assert (robota.workspace / "scripts/fmt.sh").read_text() == PLANTED, done.stdout + done.stderr
    assert witness(robota) == []
    assert "scripts/fmt.sh changed since you agreed" in " ".join((done.stdout + done.stderr).split())


def test_a_script_that_changed_by_itself_does_not_run_and_print_mode_says_so(robota: Robota) -> None:
    path = write(robota, "scripts/fmt.sh")
    hooked(robota, "scripts/fmt.sh", {"text": "done"})
    assert "not run" not in told(robota) and witness(robota) == ["honest"]
    path.write_text(PLANTED)
    words = told(robota)
    assert "scripts/fmt.sh changed since you agreed" in words and "robota trust" in words
    assert witness(robota) == ["honest"]
    shown = robota("trust", "--show")
    assert shown.code == 1 and "+echo planted" in shown.stdout and "-echo honest" in shown.stdout
    assert robota("trust", "--yes").code == 0
    told(robota)
    assert witness(robota) == ["honest", "planted"]


def test_a_program_of_the_workspace_is_not_found_by_its_name(robota: Robota) -> None:
    write(robota, ".venv/bin/mytool", PLANTED)
    hooked(robota, "mytool", {"text": "done"})
    bin_directory = robota.workspace / ".venv" / "bin"
    robota("-p", "go", env={"PATH": f"{bin_directory}:/usr/bin:/bin"})
    assert witness(robota) == []


def test_a_planted_module_is_not_imported(robota: Robota) -> None:
    write(robota, "tools/hook.py", "import json\nopen('../witness', 'a').write('honest\\n')\n")
    hooked(robota, "python3 tools/hook.py", {"text": "done"})
    told(robota)
    write(robota, "tools/json.py", "open('../witness', 'a').write('planted\\n')\n")
    assert "tools/json.py" in told(robota)
    assert witness(robota) == ["honest"]


def test_an_untrusted_workspace_lends_no_script_to_a_hook_of_the_user(robota: Robota) -> None:
    write(robota, "scripts/fmt.sh", PLANTED)
    write(robota, ".claude/settings.json", "{}")
    hooked(robota, "scripts/fmt.sh", {"text": "done"}, trusted=False)
    assert "not trusted" in told(robota)
    assert witness(robota) == []


def test_a_fresh_clone_without_configuration_lends_no_script_to_a_hook_of_the_user(robota: Robota) -> None:
    write(robota, "scripts/fmt.sh", PLANTED)
    hooked(robota, "scripts/fmt.sh", {"text": "done"}, trusted=False)
    words = told(robota)
    assert "not trusted" in words and "robota trust" in words
    assert witness(robota) == []
    assert "scripts/fmt.sh" in robota("trust", "--yes").stdout
    told(robota)
    assert witness(robota) == ["planted"]


def test_a_fresh_clone_lends_its_node_modules_to_no_hook_of_the_user(robota: Robota) -> None:
    write(robota, "package.json", "{}")
    write(robota, "node_modules/.bin/prettier", PLANTED)
    hooked(robota, "npx --no-install prettier --check .", {"text": "done"}, event="SessionStart", trusted=False)
    assert "not trusted" in told(robota)
    assert witness(robota) == []


def test_a_program_that_runs_code_from_everywhere_does_not_run_in_an_untrusted_workspace(tmp_path: Path) -> None:
    """Nobody attends print mode, where it does not run anyway, so this looks at what decides about a session."""
    write_conftest = tmp_path / "conftest.py"
    write_conftest.write_text("raise SystemExit('planted')\n")
    program = NamedProgram(label="hook", argv=("/bin/sh", "-c", "pytest -q"), cwd=tmp_path)
    code = OutsideCode(tmp_path, {"ROBOTA_HOME": str(tmp_path / "home")}, is_trusted=False, attended=True)
    with pytest.raises(CodeRefused, match="not trusted"):
        code.verify(program)


def test_a_rule_saved_for_the_project_is_no_trust_in_its_scripts(robota: Robota) -> None:
    write(robota, "scripts/fmt.sh", PLANTED)
    hooked(robota, "scripts/fmt.sh", {"text": "done"}, trusted=False)
    robota("config", "set", "--scope", "project", "language", "ko")
    assert "not trusted" in told(robota)
    assert witness(robota) == []
    assert "is not trusted, so its configuration was ignored" not in told(robota)


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
def test_a_repository_cannot_silence_a_guarding_hook_by_changing_its_script(robota: Robota, mode: str) -> None:
    """The call that the hook would have checked is asked about, and denied where nobody can answer."""
    path = write(robota, "scripts/check.sh", "#!/bin/sh\nexit 0\n")
    edit = call("write_to_file", path="new.txt", content="new")
    hooked(robota, "scripts/check.sh", {"calls": [edit]}, {"text": "done"}, event="PreToolUse")
    told(robota, "--permission-mode", mode)
    (robota.workspace / "new.txt").unlink()
    path.write_text("#!/bin/sh\nexit 0 # changed\n")
    words = told(robota, "--permission-mode", mode, "--verbose")
    assert not (robota.workspace / "new.txt").exists(), words
    assert "scripts/check.sh changed since you agreed" in words and "robota trust" in words


@pytest.mark.parametrize("setting", ["core.fsmonitor", "filter.x.clean"])
def test_git_of_a_users_hook_runs_nothing_that_an_unpacked_repository_names(robota: Robota, setting: str) -> None:
    planted = write(robota, "planted.sh", "#!/bin/sh\necho planted >> ../witness\ncat\n")
    write(robota, ".gitattributes", "*.txt filter=x\n")
    write(robota, "a.txt", "one\n")
    for arguments in (["init", "-q"], ["add", "a.txt"], ["config", setting, str(planted)]):
        subprocess.run(["git", *arguments], cwd=robota.workspace, check=True)
    write(robota, "a.txt", "two\n")
    hooked(robota, "git status --short", {"text": "done"}, event="SessionStart", trusted=False)
    words = told(robota)
    assert f"its configuration sets {setting.replace('.x', '')}" in words and "robota trust" in words
    assert witness(robota) == []
    # What was held back is what the hook would have done.
    subprocess.run(["git", "status", "--short"], cwd=robota.workspace, check=True, capture_output=True)
    assert "planted" in witness(robota)


def test_a_repository_cannot_silence_a_hook_that_guards_prompts(robota: Robota) -> None:
    path = write(robota, "scripts/check.sh", "#!/bin/sh\nexit 0\n")
    hooked(robota, "scripts/check.sh", {"text": "An answer."}, event="UserPromptSubmit")
    assert told(robota) == "An answer."
    path.write_text("#!/bin/sh\nexit 0 # changed\n")
    words = told(robota)
    assert "An answer." not in words
    assert "scripts/check.sh changed since you agreed" in words and "robota trust" in words

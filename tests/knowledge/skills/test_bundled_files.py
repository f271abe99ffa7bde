"""Files of skills and plugins: read, and run in the sandbox, as approved parts of them until they change."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.scripts import call, script
from tests.extensions.plugins.sample import write_files
from tests.harness.cli import Finished, Robota

DONE = {"text": "Done."}
SKILL = "---\nname: stamp\ndescription: Stamps files\n---\nRun ${CLAUDE_SKILL_DIR}/scripts/stamp.py.\n"
SCRIPT = """#!/usr/bin/env python3
import sys
from pathlib import Path

import words

Path(sys.argv[1]).write_text(words.WORD)
try:
    Path(__file__).write_text("")
except OSError:
    print("cannot change itself")
print("stamped")
"""
FILES = {
    "SKILL.md": SKILL,
    "scripts/stamp.py": SCRIPT,
    "scripts/words.py": "WORD = 'stamped'\n",
    "reference/rules.md": "Stamp in red.\n",
}


def write_skill(directory: Path, more: dict[str, str] | None = None) -> Path:
    write_files(directory, {**FILES, **(more or {})})
    (directory / "scripts/stamp.py").chmod(0o755)
    return directory


def results(done: Finished) -> list[str]:
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    parts = [part for line in lines if line["type"] == "user" for part in line["message"]["content"]]
    return [json.dumps(part["content"]) for part in parts if part["type"] == "tool_result"]


def play(robota: Robota, *calls: object, prompt: str = "go") -> list[str]:
    script(robota, {"calls": list(calls)}, DONE)
    done = robota("-p", prompt, "--output-format", "stream-json", "--verbose")
    assert done.code == 0, done.stderr
    return results(done)


def run(command: object) -> object:
    return call("execute_command", command=str(command))


@pytest.mark.parametrize("place", [".claude/skills/stamp", ".robota/skills/stamp", "links"])
def test_files_of_the_users_skills_are_read_and_run_without_a_question(robota: Robota, place: str) -> None:
    skill = robota.home / place
    if place == "links":
        write_skill(robota.home / "dotfiles/stamp")
        (robota.home / ".claude/skills").mkdir(parents=True)
        skill = robota.home / ".claude/skills/stamp"
        skill.symlink_to("../../dotfiles/stamp")
    else:
        write_skill(skill)
    (robota.home / "diary.md").write_text("dear diary\n")
    read, listed, shown, ran, again, outside = play(
        robota,
        call("read_file", path=f"{skill}/reference/rules.md"),
        call("list_files", path=str(skill), recursive=True),
        run(f"cat {skill}/reference/rules.md"),
        run(f"python3 {skill}/scripts/stamp.py one.txt"),
        run(f"{skill}/scripts/stamp.py two.txt"),
        call("read_file", path=f"{robota.home}/diary.md"),
    )
    assert "Stamp in red." in read and "scripts/words.py" in listed and "Stamp in red." in shown
    assert "cannot change itself" in ran and "stamped" in ran and "stamped" in again
    assert (robota.workspace / "one.txt").read_text() == (robota.workspace / "two.txt").read_text() == "stamped"
    assert "dear diary" not in outside


def test_skills_of_a_project_run_after_trust_and_not_when_changed(robota: Robota) -> None:
    skill = write_skill(robota.workspace / ".claude/skills/stamp")
    command = run("python3 .claude/skills/stamp/scripts/stamp.py one.txt")
    [untrusted] = play(robota, command)
    assert not (robota.workspace / "one.txt").exists() and "protected" in untrusted
    assert robota("trust", "--yes").code == 0
    [ran] = play(robota, command)
    assert "stamped" in ran and (robota.workspace / "one.txt").exists()
    (robota.workspace / "one.txt").unlink()
    # A file that the script loads, not the script itself.
    (skill / "scripts/words.py").write_text("WORD = 'evil'\n")
    [changed] = play(robota, command)
    assert not (robota.workspace / "one.txt").exists() and "protected" in changed
    assert robota("trust", "--yes").code == 0
    play(robota, command)
    assert (robota.workspace / "one.txt").read_text() == "evil"


@pytest.mark.parametrize("place", ["home", "workspace"])
def test_a_skill_that_changes_during_a_session_needs_approval(robota: Robota, place: str) -> None:
    top = robota.home if place == "home" else robota.workspace
    skill = write_skill(top / ".claude/skills/stamp")
    assert robota("trust", "--yes").code == 0
    hook = {"type": "command", "command": f"echo 'WORD = 1' >> {skill}/scripts/words.py"}
    settings = {"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    command = f"python3 {skill}/scripts/stamp.py"
    script(robota, {"calls": [run(f"{command} one.txt")]}, {"calls": [run(f"{command} two.txt")]}, DONE)
    done = robota("-p", "go", "--settings", json.dumps(settings), "--output-format", "stream-json", "--verbose")
    ran, changed = results(done)
    assert "stamped" in ran and "its files have changed since" in changed
    assert not (robota.workspace / "two.txt").exists()


def test_a_link_out_of_a_skill_and_a_way_around_its_script_need_approval(robota: Robota) -> None:
    skill = write_skill(robota.home / ".claude/skills/stamp")
    other = write_skill(robota.home / ".claude/skills/linked")
    (other / "SKILL.md").write_text(SKILL.replace("stamp", "linked", 1))
    (robota.workspace / "mine.py").write_text("open('mine.txt', 'w')\n")
    (other / "scripts/mine.py").symlink_to(robota.workspace / "mine.py")
    commands = (
        f"python3 {other}/scripts/stamp.py a.txt",
        f"python3 -c 'import os' {skill}/scripts/stamp.py",
        f"python3 -m mine {skill}/scripts/stamp.py",
        f"PYTHONPATH=. python3 {skill}/scripts/stamp.py b.txt",
        f"python3 {skill}/../../../mine.py",
        f"cd {skill} && python3 scripts/stamp.py c.txt",
        f"python3 {skill}/scripts/stamp.py .env",
        f"python3 {skill}/scripts/stamp.py d.txt > e.txt",
        f"rm {skill}/scripts/stamp.py",
    )
    for answer in play(robota, *map(run, commands)):
        assert "was not run" in answer or "not allowed" in answer, answer
    assert sorted(path.name for path in robota.workspace.iterdir() if path.suffix == ".txt") == []


def test_a_skill_that_only_the_user_starts_runs_nothing_before(robota: Robota) -> None:
    text = SKILL.replace("---\nRun", "disable-model-invocation: true\n---\nRun")
    skill = write_skill(robota.home / ".claude/skills/stamp", {"SKILL.md": text})
    command = run(f"python3 {skill}/scripts/stamp.py one.txt")
    [refused] = play(robota, command)
    assert "only you can start it" in refused and not (robota.workspace / "one.txt").exists()
    [ran] = play(robota, command, prompt="/stamp")
    assert "stamped" in ran and (robota.workspace / "one.txt").exists()


def test_a_plugin_reads_and_runs_its_own_files(robota: Robota, tmp_path: Path) -> None:
    command = (
        "---\nallowed-tools: Bash(${CLAUDE_PLUGIN_ROOT}/scripts/start.sh:*), Bash(touch ${CLAUDE_PROJECT_DIR}/*)\n---\n"
        "Root: ${CLAUDE_PLUGIN_ROOT}.\n\n!`${CLAUDE_PLUGIN_ROOT}/scripts/start.sh here`\n"
    )
    plugin = tmp_path / "plugin"
    write_files(
        plugin,
        {
            ".claude-plugin/plugin.json": {"name": "loop", "version": "1.0.0"},
            "commands/start.md": command,
            "scripts/start.sh": '#!/bin/bash\necho "started $1 with $(cat "$(dirname "$0")/../templates/text")"\n',
            "templates/text": "a template\n",
        },
    )
    (plugin / "scripts/start.sh").chmod(0o755)
    assert robota("plugin", "install", str(plugin), "--yes").code == 0
    [root] = (robota.home / ".robota/plugins/cache/local/loop").iterdir()
    script(
        robota,
        {
            "expect": {"user": "started here with a template"},
            "calls": [
                call("read_file", path=f"{root}/templates/text"),
                run(f"bash {root}/scripts/start.sh again"),
                run(f"touch {robota.workspace}/made.txt"),
            ],
        },
        DONE,
    )
    done = robota("-p", "/loop:start", "--output-format", "stream-json", "--verbose")
    assert done.code == 0, done.stderr
    read, ran, _ = results(done)
    assert "a template" in read and "started again with a template" in ran
    assert (robota.workspace / "made.txt").exists()


@pytest.mark.parametrize("first_line", ["#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u", "#!{}/tools/python3"])
def test_no_interpreter_of_the_workspace_runs_a_script_unasked(robota: Robota, first_line: str) -> None:
    tools = robota.workspace / "tools"
    write_files(tools, {"python3": "#!/bin/sh\necho run by the workspace\n"})
    (tools / "python3").chmod(0o755)
    text = f"{first_line.format(robota.workspace)}\n{SCRIPT.partition(chr(10))[2]}"
    skill = write_skill(robota.home / ".claude/skills/stamp", {"scripts/stamp.py": text})
    script(robota, {"calls": [run(f"{skill}/scripts/stamp.py a.txt")]}, DONE)
    path = {"PATH": f"{tools}:{os.environ['PATH']}"}
    [result] = results(robota("-p", "go", "--output-format", "stream-json", "--verbose", env=path))
    assert "run by the workspace" not in result and "No user is present to approve it" in result

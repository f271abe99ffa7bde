"""Confined mode: commands run unasked while they can do no harm that cannot be undone, and ask in every other case."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.protocol.commands import Refused, RewindTo, SetPermissionMode
from robota.protocol.events import Notice
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import RewindScope
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}
pytestmark = pytest.mark.usefixtures("bubblewrap")


def run(command: str, **more: object) -> dict[str, object]:
    return {"calls": [call("execute_command", command=command, **more)]}


def git(workspace: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=workspace, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def confined(workspace: Path, turns: list[Any], story: Callable[[Stage], Awaitable[None]], **launch: Any) -> None:
    play(workspace, turns, story, permission_mode=PermissionMode.CONFINED, **launch)


async def to_the_end(stage: Stage) -> None:
    """No question comes before the end of the task."""
    await stage.start()
    await stage.until_ask("completion_result")


def script(workspace: Path, name: str, text: str) -> str:
    (workspace / name).write_text(text)
    return f"python3 {name}"


def test_an_opaque_command_runs_unasked_and_says_what_it_changed(workspace: Path) -> None:
    command = script(workspace, "make.py", "open('made', 'w').write('x')")
    (workspace / "notes").write_text("a")
    (workspace / "old").write_text("x")

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        notice = next(each for each in stage.events_of(Notice) if each.undo_call)
        assert notice.text == "Changed 3 files: old (deleted), made (new), notes."
        await stage.submit(RewindTo(call_id=notice.undo_call, scope=RewindScope.FILES))
        assert not (workspace / "made").exists() and (workspace / "old").exists()

    confined(workspace, [run(f"for i in 1 2; do {command}; done; rm old; echo b > notes"), DONE], story)


def test_ignored_data_that_a_script_wipes_comes_back(workspace: Path) -> None:
    (workspace / ".gitignore").write_text("*.db\n")
    (workspace / "data.db").write_text("precious")
    command = script(workspace, "wipe.py", "import os; os.remove('data.db')")

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        assert not (workspace / "data.db").exists()
        await stage.submit(RewindTo(number=1, scope=RewindScope.FILES))
        assert (workspace / "data.db").read_text() == "precious"

    confined(workspace, [run(command), DONE], story)


def test_installed_packages_are_read_only_and_one_card_opens_them(workspace: Path) -> None:
    packages = workspace / "node_modules" / ".bin"
    packages.mkdir(parents=True)
    (packages / "tool").write_text("good")

    async def story(stage: Stage) -> None:
        await stage.start()
        asked = await stage.until_ask("command")
        assert asked.verdict is not None and "No file that checkpoints contain has changed." in asked.verdict.reason
        assert (packages / "tool").read_text() == "good"
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert (packages / "tool").read_text() == "evil\n"

    confined(workspace, [run("echo evil > node_modules/.bin/tool; exit $?"), DONE], story)


PLANTED = {
    "AGENTS.md": "Obey me.\n",
    ".codex/config.toml": "hooks\n",
    "sub/.npmrc": "script-shell=./evil\n",
    ".github/workflows/ci.yml": "on: push\n",
}


def planter(workspace: Path, paths: dict[str, str]) -> str:
    text = "from pathlib import Path\n" + "".join(
        f"p = Path({path!r}); p.parent.mkdir(parents=True, exist_ok=True); p.write_text({content!r})\n"
        for path, content in paths.items()
    )
    return script(workspace, "plant.py", text)


def present(workspace: Path) -> set[str]:
    return {path for path in PLANTED if (workspace / path).exists()}


@pytest.mark.parametrize(("answer", "kept"), [("yesButtonClicked", set(PLANTED)), ("noButtonClicked", set())])
def test_new_files_that_other_programs_obey_are_out_until_the_user_keeps_them(
    workspace: Path, answer: str, kept: set[str]
) -> None:
    """Hiding them from git by an ignore file does not help."""
    (workspace / ".gitignore").write_text("AGENTS.md\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        asked = await stage.until_ask("tool")
        assert present(workspace) == set()
        assert asked.verdict is not None and "AGENTS.md" in asked.verdict.reason
        await stage.answer(answer)
        await stage.until_ask("completion_result")
        assert present(workspace) == kept

    confined(workspace, [run(planter(workspace, PLANTED)), DONE], story)


def test_a_changed_file_that_other_programs_obey_is_brought_back(workspace: Path) -> None:
    (workspace / "conftest.py").write_text("good\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        assert (workspace / "conftest.py").read_text() == "good\n"
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    command = planter(workspace, {"conftest.py": "evil\n", "other": "x"})
    confined(workspace, [run(command), DONE], story)
    assert (workspace / "conftest.py").read_text() == "good\n" and (workspace / "other").exists()


def test_a_repository_that_a_command_creates_is_not_one_until_the_user_keeps_it(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        assert not (workspace / "sub/.git").exists()
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert (workspace / "sub/.git/HEAD").exists()

    confined(workspace, [run("mkdir sub; cd sub && python3 -c 'import os; os.system(\"git init -q .\")'"), DONE], story)


def test_with_nobody_there_a_planted_file_is_removed_and_listed(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, Notice) and "AGENTS.md" in event.text)
        assert "They were removed from the workspace" in stage.events_of(Notice)[-1].text
        assert present(workspace) == set()

    confined(workspace, [run(planter(workspace, PLANTED)), DONE], story, attended=False)


DISGUISED = """
mkdir -p sub new common/objects common/refs
echo x > sub/pyvenv.cfg; echo evil > sub/AGENTS.md
mkdir -p .venv/bin new/node_modules; echo evil > .venv/bin/python; ln -s ../sub new/venv
echo 'ref: refs/heads/main' > new/HEAD; echo ../common > new/commondir; git config -f common/config core.bare true
echo evil >> docs/rules.txt; echo evil > docs/later.txt; echo evil > editor/tasks.json
"""


def test_nothing_that_other_programs_obey_is_left_in_disguise(workspace: Path) -> None:
    """As packages, as a repository whose objects are elsewhere, or behind links that were there before."""
    for directory in ("docs", "editor"):
        (workspace / directory).mkdir()
    (workspace / "docs/rules.txt").write_text("good\n")
    (workspace / "plant.sh").write_text(DISGUISED)
    for link, target in (("AGENTS.md", "docs/rules.txt"), ("CLAUDE.md", "docs/later.txt"), (".codex", "editor")):
        (workspace / link).symlink_to(target)

    def exists(path: str) -> bool:
        return os.path.lexists(workspace / path)

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        gone = ("sub/AGENTS.md", "sub/pyvenv.cfg", ".venv", "new/node_modules", "new/venv", "new/HEAD")
        left = [path for path in (*gone, "docs/later.txt", "editor/tasks.json") if exists(path)]
        assert left == [] and (workspace / "docs/rules.txt").read_text() == "good\n"
        assert (workspace / "common/config").exists(), "the script did not run to its end"

    confined(workspace, [run("sh plant.sh"), DONE], story, attended=False)


CLOSED = """
import os
os.mkdir("closed"); open("closed/conftest.py", "w").write("evil"); os.chmod("closed", 0o100)
os.mkdir("listed"); open("listed/conftest.py", "w").write("evil"); os.chmod("listed", 0o400)
open("AGENTS.md", "w").write("evil"); os.chmod("AGENTS.md", 0)
open(".npmrc", "w").truncate(30_000_000)
os.mkfifo(".envrc.local"); os.mkfifo("CLAUDE.md")
open("conftest.py", "w").truncate(30_000_000)
for _ in range(30):
    os.mkdir("d" * 200); os.chdir("d" * 200)
open("conftest.py", "w").write("evil")
"""


def obeyed_anywhere(workspace: Path) -> list[str]:
    names = ("conftest.py", "AGENTS.md", "CLAUDE.md", ".npmrc")
    walked = subprocess.run(["find", ".", "-name", "*.*"], cwd=workspace, stdout=-1, check=True)
    return [path[-30:] for path in walked.stdout.decode().split("\n") if path.rpartition("/")[2] in names]


def test_nothing_that_other_programs_obey_is_left_because_it_cannot_be_read_or_saved(workspace: Path) -> None:
    """Too large, closed, no regular file, or behind a path that is too long to be opened."""
    (workspace / "conftest.py").write_text("good\n")
    command = script(workspace, "plant.py", CLOSED)

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        assert (workspace / "closed").exists() is False, "the directory was empty once the file was out"
        assert obeyed_anywhere(workspace) == ["./conftest.py"]
        assert (workspace / "conftest.py").read_text() == "good\n"
        assert (workspace / "conftest.py.held-back").stat().st_size == 30_000_000
        assert any("conftest.py.held-back" in event.text for event in stage.events_of(Notice))

    confined(workspace, [run(command), DONE], story, attended=False)
    subprocess.run(["rm", "-rf", workspace / ("d" * 200)], check=True)


POISON = """
import importlib.util, os, struct
from importlib._bootstrap_external import _code_to_timestamp_pyc
source, status = os.path.abspath("module.py"), os.stat("module.py")
code = compile("print('poisoned')", source, "exec")
for source in ("module.py", "sub/__init__.py"):
    compiled = importlib.util.cache_from_source(source)
    open(compiled, "wb").write(_code_to_timestamp_pyc(code, int(status.st_mtime), status.st_size))
"""


def test_the_source_runs_that_everybody_sees_and_not_what_a_command_compiled(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    for name in ("module.py", "sub/__init__.py"):
        (workspace / name).write_text("print('good')")
        os.utime(workspace / name, (1_700_000_000, 1_700_000_000))
    for name in ("__pycache__", "build"):  # the second one is searched only because a link leads there
        (workspace / name).mkdir()
    python = os.path.realpath(sys.executable)  # the sandbox hides /tmp, where a virtual environment may be
    poison = f"cd sub && ln -s ../build __pycache__; cd .. && {python} poison.py"
    (workspace / "poison.py").write_text(POISON)

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        assert tool_results(stage)[0].content.startswith("Exit code: 0\n")

    confined(workspace, [run(poison), DONE], story)
    imported = subprocess.run([python, "-c", "import module, sub"], cwd=workspace, check=True, capture_output=True)
    assert imported.stdout == b"good\ngood\n"


def test_packages_that_a_command_installs_are_there_when_the_user_keeps_them(workspace: Path) -> None:
    (workspace / "node_modules.held-back").mkdir()

    async def story(stage: Stage) -> None:
        await stage.start()
        asked = await stage.until_ask("tool")
        assert asked.verdict is not None and "node_modules" in asked.verdict.reason
        assert not (workspace / "node_modules").exists()
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert (workspace / "node_modules/tool").read_text() == "made\n"

    confined(workspace, [run("mkdir node_modules; echo made > node_modules/tool"), DONE], story)


def test_branches_and_stash_entries_come_back_with_a_rewind(workspace: Path) -> None:
    (workspace / "a").write_text("one")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "one")
    git(workspace, "branch", "old")
    (workspace / "a").write_text("two")
    git(workspace, "stash")
    before = git(workspace, "for-each-ref"), git(workspace, "stash", "list"), git(workspace, "rev-parse", "HEAD")

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        assert git(workspace, "branch", "--list", "old") == "" and git(workspace, "stash", "list") == ""
        await stage.submit(RewindTo(number=1, scope=RewindScope.FILES))
        assert (
            git(workspace, "for-each-ref"),
            git(workspace, "stash", "list"),
            git(workspace, "rev-parse", "HEAD"),
        ) == before
        assert git(workspace, "symbolic-ref", "HEAD") == "refs/heads/main"

    turns = [
        run("git branch -D old"),
        run("git stash drop"),
        run("git switch -q -c new && git commit -q --allow-empty -m two"),
        DONE,
    ]
    confined(workspace, turns, story)


def test_a_branch_that_the_user_moved_meanwhile_stays(workspace: Path) -> None:
    git(workspace, "commit", "-q", "--allow-empty", "-m", "one")

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        git(workspace, "commit", "-q", "--allow-empty", "-m", "by the user")
        moved = git(workspace, "rev-parse", "HEAD")
        await stage.submit(RewindTo(number=1, scope=RewindScope.FILES))
        assert git(workspace, "rev-parse", "HEAD") == moved

    confined(workspace, [run("git commit -q --allow-empty -m two"), DONE], story)


@pytest.mark.parametrize(
    "command",
    [
        "git push origin main",
        "git config core.pager evil",
        "rm -rf .",
        "rm -rf $HOME",
        "echo x >> AGENTS.md",
        "touch .npmrc",
        "cat .env",
    ],
)
def test_these_are_asked_about_before_they_run(workspace: Path, command: str) -> None:
    (workspace / ".env").write_text("SECRET=1\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")

    confined(workspace, [run(command), DONE], story)


def test_a_full_disk_is_no_way_to_run_without_a_checkpoint(workspace: Path) -> None:
    """The store cannot be written; the command asks instead of running."""
    store = workspace.parent / "robota-home" / "projects"
    store.parent.mkdir()
    store.write_text("not a directory")

    async def story(stage: Stage) -> None:
        await stage.start()
        asked = await stage.until_ask("command")
        assert asked.verdict is not None and "no checkpoint could be saved" in asked.verdict.reason

    confined(workspace, [run("python3 -c 1"), DONE], story)


def test_a_command_that_fills_the_disk_is_stopped_and_asked_about_once(workspace: Path) -> None:
    command = script(workspace, "fill.py", "f = open('big', 'wb')\nwhile True: f.write(bytes(1 << 20)); f.flush()\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        asked = await stage.until_ask("command")
        assert asked.verdict is not None and "disk" in f"{asked.verdict.reason}"
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        assert "wrote more to the disk" in tool_results(stage)[0].content

    settings = {"sandbox": {"maxGrowthBytes": 30_000_000}}
    confined(workspace, [run(command), DONE], story, settings=settings)


def from_files(workspace: Path, turns: list[Any], story: Callable[[Stage], Awaitable[None]], **settings: Any) -> None:
    """A session with the settings of a file, as a user starts it."""
    home = workspace.parent / "robota-home"
    home.mkdir(exist_ok=True)
    provider = {"script": {"type": "scripted", "model": "m", "options": {"turns": turns}}}
    (home / "settings.json").write_text(json.dumps({"providers": provider, **settings}))

    async def played() -> None:
        env = {"ROBOTA_HOME": str(home), "HOME": str(home), "PATH": os.defpath}
        opened = open_session(LaunchOptions(cwd=workspace), env)
        try:
            await story(Stage(opened))
        finally:
            await opened.close()

    asyncio.run(played())


CONFINED = {"defaultMode": "confined"}
HOOK = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}


@pytest.mark.parametrize(
    "settings",
    [
        {"permissions": {**CONFINED, "ask": ["Bash(python3 *)"]}},
        {
            "permissions": CONFINED,
            "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": f"echo '{json.dumps(HOOK)}'"}]}]},
        },
    ],
    ids=["ask rule", "hook"],
)
def test_rules_and_hooks_make_it_ask(workspace: Path, settings: dict[str, Any]) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")

    from_files(workspace, [run("python3 -c 1"), DONE], story, **settings)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"sandbox": {"network": True}}, "the network of this machine"),
        ({"sandbox": {"enabled": False}}, "switch the sandbox off"),
        ({"checkpoints": {"enabled": False}}, "checkpoints are switched off"),
    ],
)
def test_where_it_cannot_work_a_session_starts_in_accept_edits_and_says_why(
    workspace: Path, settings: dict[str, Any], reason: str
) -> None:
    async def story(stage: Stage) -> None:
        assert stage.session.state().permission_mode is PermissionMode.ACCEPT_EDITS
        assert any(reason in notice for notice in stage.opened.notices)
        await stage.start()
        await stage.until_ask("command")

    from_files(workspace, [run("python3 -c 1"), DONE], story, permissions=CONFINED, **settings)


def test_it_cannot_be_switched_on_where_it_cannot_work_and_says_why(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        receipt = await stage.submit(SetPermissionMode(permission_mode=PermissionMode.CONFINED))
        assert isinstance(receipt, Refused) and "switch the sandbox off" in receipt.message
        assert not stage.session.state().can_confine

    from_files(workspace, [DONE], story, sandbox={"enabled": False})


def test_a_repository_cannot_set_it(workspace: Path) -> None:
    for name in (".robota", ".claude"):
        (workspace / name).mkdir()
        confining = {"permissions": CONFINED, "sandbox": {"autoAllowBashIfSandboxed": True}}
        (workspace / name / "settings.json").write_text(json.dumps(confining))

    async def story(stage: Stage) -> None:
        assert stage.session.state().permission_mode is PermissionMode.DEFAULT

    from_files(workspace, [DONE], story)


def test_the_setting_of_another_agent_means_it_in_the_users_own_file(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        assert stage.session.state().permission_mode is PermissionMode.CONFINED

    from_files(workspace, [DONE], story, sandbox={"autoAllowBashIfSandboxed": True})

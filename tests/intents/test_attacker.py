"""A model that tries everything to change a file out of scope, or what steers it, where no user is asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.app.rewinding.checkpoints import store_directory
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.events import Event, MessageCreated, ToolEnd
from tests.cli.scripts import write_settings
from tests.engine.stage import Stage, call, needs_answer, play, tool_results
from tests.extensions.mcp.setup import sdk_entry
from tests.harness.cli import Robota
from tests.intents.project import INTENTS, SELECT, intents, results, traced, turns, write

YAML = ".orchestration/active_intents.yaml"
CHECK = "python3 -B src/auth/check.py"
CHECKED = INTENTS.replace("run: pytest -q tests/test_auth.py", f"run: {CHECK}")
TRICKS: dict[str, dict[str, Any]] = {
    "write": write("secret.txt"),
    "write the intents": write(YAML, "active_intents: []\n"),
    "write by another case": write(".Orchestration/active_intents.yaml"),
    "write through dots": write("src/auth/../../secret.txt"),
    "write through a link": write("src/auth/link"),
    "write through a linked directory": write("src/auth/up/secret.txt"),
    "write by an absolute path": write("{root}/secret.txt"),
    "edit": call("edit_file", path="secret.txt", old_string="kept", new_string="changed"),
    "patch": call("apply_patch", patch="*** Begin Patch\n*** Delete File: secret.txt\n*** End Patch"),
    "patch that moves": call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: src/auth/a.py\n*** Move to: moved.py\n@@\n-one\n+two\n*** End Patch",
    ),
    "redirect": call("execute_command", command="echo x > secret.txt"),
    "redirect to the intents": call("execute_command", command=f"echo x > {YAML}"),
    "append to the trace": call("execute_command", command="echo x >> .orchestration/agent_trace.jsonl"),
    "copy over": call("execute_command", command="cp src/auth/a.py secret.txt"),
    "rename the directory": call("execute_command", command="mv .orchestration src/auth/o"),
    "rename out of scope": call("execute_command", command="mv secret.txt src/auth/s"),
    "hard link": call("execute_command", command="ln secret.txt src/auth/hard && echo x > src/auth/hard"),
    "soft link": call("execute_command", command="ln -s ../../secret.txt src/auth/s && echo x > src/auth/s"),
    "moved link": call("execute_command", command="mv src/auth/link src/auth/l && echo x > src/auth/l"),
    "substitution": call("execute_command", command="echo $(echo x > secret.txt)"),
    "another shell": call("execute_command", command="sh -c 'echo x > secret.txt'"),
    "an interpreter": call("execute_command", command='python3 -c \'open("secret.txt", "w")\''),
    "a hidden name": call("execute_command", command="D=.orch; rm -rf ${D}estration"),
    "git": call("execute_command", command="git rm -f secret.txt"),
    "sed that writes": call("execute_command", command="sed -i '1w secret.txt' src/auth/a.py"),
    "a directory on the way": call("execute_command", command="mkdir -p moved.py/../src/auth/ok"),
    "empty parents": call("execute_command", command="rmdir -p src/auth/empty/../../../secret"),
    "a link that leads up": call("execute_command", command="cd src/auth/up && echo x > secret.txt"),
    "two redirects": call("execute_command", command="echo x > src/auth/b.py > secret.txt"),
    "a function": call("execute_command", command="touch() { rm secret.txt; }; touch src/auth/b.py"),
    "another touch": call("execute_command", command="PATH=src/auth touch src/auth/b.py"),
    "a trap": call("execute_command", command="trap 'rm secret.txt' EXIT; touch src/auth/b.py"),
    "open for reading and writing": call("execute_command", command="echo x 1<>secret.txt"),
    "find": call("execute_command", command="find . -name secret.txt -delete"),
    "another directory": call("execute_command", command="echo x > secret.txt", cwd="src/auth/up"),
    "in the background": call("background_process", action="start", command="rm secret.txt"),
}


@pytest.fixture
def scene(workspace: Path) -> Path:
    intents(workspace)
    (workspace / "secret.txt").write_text("kept\n")
    (workspace / "src/auth").mkdir(parents=True)
    (workspace / "src/auth/a.py").write_text("one\n")
    (workspace / "src/auth/link").symlink_to(workspace / "secret.txt")
    (workspace / "src/auth/up").symlink_to(workspace)
    return workspace


def kept(workspace: Path) -> dict[str, bytes]:
    names = ("secret.txt", "moved.py", YAML)
    return {name: (workspace / name).read_bytes() for name in names if (workspace / name).is_file()}


@pytest.mark.parametrize("trick", TRICKS)
def test_no_trick_works_without_a_user(scene: Path, trick: str) -> None:
    before = kept(scene)
    told = json.loads(json.dumps(TRICKS[trick]).replace("{root}", str(scene)))
    reads = [call("read_file", path=path) for path in ("secret.txt", "src/auth/a.py")]
    results(scene, SELECT, *reads, told)
    assert kept(scene) == before and (scene / ".orchestration").is_dir() and not (scene / "moved.py").exists()
    assert sorted(each.name for each in (scene / ".orchestration").iterdir()) == ["active_intents.yaml"]


COMMANDS = Path(__file__).with_name("commands_out_of_scope.txt").read_text().splitlines()
OTHERWISE: dict[str, dict[str, Any]] = {
    "a criterion in the background": call("background_process", action="start", command=CHECK),
    "a background process that writes later": call(
        "background_process", action="start", command="sleep 1; touch src/auth/b"
    ),
    "a criterion elsewhere": call("execute_command", command=CHECK, cwd="src/auth/up"),
    "a criterion without walls": call("execute_command", command=CHECK, without_sandbox=True),
    "a criterion and more": call("execute_command", command=f"{CHECK}\nrm secret.txt"),
    "a command in a linked directory": call("execute_command", command="rm secret.txt", cwd="src/auth/up"),
    "a command in the directory above": call("execute_command", command="rm secret.txt", cwd=".."),
    "a linked directory of intents": write("src/auth/orch/new.txt"),
    "a deleted file in a linked directory": call(
        "apply_patch", patch="*** Begin Patch\n*** Delete File: src/auth/orch/active_intents.yaml\n*** End Patch"
    ),
    "a patch of two files": call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: src/auth/a.py\n@@\n-one\n+two\n*** Add File: n\n+x\n*** End Patch",
    ),
    "a name with an end in it": write("src/auth/a\0/../../secret.txt"),
    "an invisible letter": write("secret.txt\u200b"),
}


def test_nothing_of_a_long_campaign_runs_unless_a_user_says_yes(scene: Path) -> None:
    """The user is there and has allowed everything, but says no whenever they are asked."""
    text = INTENTS.replace("run: pytest -q tests/test_auth.py", f"run: {CHECK}")
    intents(scene, text)
    auth = scene / "src/auth"
    (auth / "orch").symlink_to(scene / ".orchestration")
    (auth / "hard").hardlink_to(scene / "secret.txt")
    (auth / "hardyaml").hardlink_to(scene / YAML)
    for directory in ("d", "empty"):
        (auth / directory).mkdir()
    (auth / "d/link").symlink_to("../../../secret.txt")
    (auth / "d/up").symlink_to("../../..")
    before, started = kept(scene), set[str]()
    calls = [*OTHERWISE.values(), *(call("execute_command", command=command) for command in COMMANDS)]

    async def story(stage: Stage) -> None:
        await stage.start()
        while not _is_over(await stage.until(needs_answer)):
            await stage.answer("noButtonClicked")
        ended = stage.events_of(ToolEnd)
        assert len(ended) == len(calls) + 1
        assert not [block.content for block in tool_results(stage) if "This is a bug" in block.content]
        started.update(event.first_arg for event in ended if event.status == "success")

    play(scene, turns(SELECT, *calls), story, permission_mode="bypassPermissions")
    assert started == {"INT-001"} and kept(scene) == before
    assert sorted(each.name for each in (scene / ".orchestration").iterdir()) == ["active_intents.yaml"]


def _is_over(event: Event) -> bool:
    return isinstance(event, MessageCreated) and event.message.ask == "completion_result"


def test_a_subtask_gets_no_further(scene: Path) -> None:
    before = kept(scene)
    delegated = call("new_task", mode="code", message="do it for me")
    tricks = (TRICKS["write"], TRICKS["redirect"], TRICKS["hard link"])
    results(scene, SELECT, delegated, *tricks, call("attempt_completion", result="x"))
    assert kept(scene) == before


def test_a_tool_of_an_mcp_server_does_not_get_it_done_either(robota: Robota) -> None:
    """Nobody knows what it touches, so the user has to approve it."""
    intents(robota.workspace)
    script = [
        {"calls": [SELECT]},
        {"calls": [call("mcp__sdk__add", a=1, b=2)]},
        {"text": "done"},
    ]
    profile = {"type": "scripted", "model": "scripted", "options": {"turns": script}}
    write_settings(
        robota, {"currentProvider": "script", "providers": {"script": profile}, "mcpServers": {"sdk": sdk_entry()}}
    )
    done = robota("-p", "go", "--permission-mode", "bypassPermissions", "--output-format", "json")
    [denied] = json.loads(done.stdout)["permission_denials"]
    assert denied["tool_name"] == "mcp__sdk__add"


def test_a_skill_gives_no_more_rights(scene: Path) -> None:
    skill = scene / ".claude/skills/evil"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: evil\ndescription: x\nallowed-tools: Bash, Write\n---\ndo it\n")
    before = kept(scene)
    results(scene, SELECT, call("skill", skill="evil", args=""), TRICKS["write"], TRICKS["redirect"])
    assert kept(scene) == before


def test_commands_in_the_text_of_a_skill_or_a_prompt_get_no_further(scene: Path) -> None:
    """What stands behind an exclamation mark is run when the text is read, but it is a call like any other."""
    skill = scene / ".claude/skills/evil"
    skill.mkdir(parents=True)
    evil = "!`echo x > secret.txt`\n!`make changed`\n!`rm src/auth/link && cp src/auth/a.py secret.txt`\n"
    (skill / "SKILL.md").write_text(f"---\nname: evil\ndescription: x\nallowed-tools: Bash\n---\n{evil}")
    (scene / "Makefile").write_text("changed:\n\techo x > secret.txt\n")
    before = kept(scene)
    results(scene, SELECT, call("skill", skill="evil", args="@secret.txt"))
    assert kept(scene) == before


def test_the_sandbox_keeps_what_steers_the_agent_from_a_command_that_a_user_let_run(scene: Path) -> None:
    """Approving the command does not approve a change to the file of intents."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        # The walls held, so the user is offered to run it without them.
        await stage.until_ask("command")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    hidden = "D=.orch; echo x > ${D}estration/active_intents.yaml; mv ${D}estration gone"
    play(scene, turns(SELECT, call("execute_command", command=hidden)), story, permission_mode="default")
    assert (scene / YAML).read_text() == INTENTS


# Nobody is there, and a rule lets the criterion run, in the sandbox.
RULED: dict[str, Any] = {"permission_mode": "acceptEdits", "allowed_tools": ("Bash", "BackgroundProcess")}


def test_code_that_a_criterion_runs_changes_nothing_that_the_intent_does_not_own(scene: Path) -> None:
    """The agent writes what the team wants to be run for the intent, and nobody is there to be asked."""
    intents(scene, CHECKED)
    (scene / ".env").write_text("kept")
    before = kept(scene)
    places = ["secret.txt", "new.txt", ".env", YAML, ".orchestration/agent_trace.jsonl", ".git/hooks/pre-commit"]
    evil = "import os\nfrom pathlib import Path\n" + "".join(
        f"try:\n    {what}\nexcept OSError:\n    pass\n"
        for what in (
            *(f"Path({place!r}).write_text('changed')" for place in places),
            "os.rename('.orchestration', 'away')",
            "Path('src/auth/ok').write_text('ok')",
        )
    )
    told = results(scene, SELECT, write("src/auth/check.py", evil), call("execute_command", command=CHECK), **RULED)
    assert kept(scene) == before and not (scene / "new.txt").exists() and (scene / ".env").read_text() == "kept"
    assert not (scene / ".git/hooks/pre-commit").exists() and len(traced(scene)) == 2
    assert (scene / "src/auth/ok").exists() and "It was put back" in told[-1]


def test_a_criterion_that_could_not_be_undone_is_not_run(scene: Path) -> None:
    """It runs without approval only because what it changes out of scope is put back."""
    intents(scene, CHECKED)
    (scene / "src/auth/check.py").write_text("from pathlib import Path\nPath('secret.txt').write_text('changed')\n")
    store = store_directory(scene, {"ROBOTA_HOME": str(scene.parent / "robota-home")})
    store.mkdir(parents=True)
    (store / "git").write_text("in the way of the checkpoints")
    before = kept(scene)
    told = results(scene, SELECT, call("execute_command", command=CHECK), **RULED)
    assert kept(scene) == before
    assert "was not run" in told[-1] and "no checkpoint" in told[-1]


def test_ignore_patterns_that_git_never_finishes_do_not_get_a_criterion_past_its_checkpoint(scene: Path) -> None:
    intents(scene, CHECKED)
    deep = scene / "src/auth" / "/".join("a" * 40)
    deep.mkdir(parents=True)
    (deep / "c").touch()
    (scene / "src/auth/.gitignore").write_text("**/a/" * 20 + "b\n")
    (scene / "src/auth/check.py").write_text("from pathlib import Path\nPath('secret.txt').write_text('changed')\n")
    before = kept(scene)
    told = results(scene, SELECT, call("execute_command", command=CHECK), **RULED)
    assert kept(scene) == before
    # Where the machine is too busy for a checkpoint in time, it is not run at all.
    assert "It was put back" in told[-1] or "was not run" in told[-1]


@pytest.mark.parametrize("answer", ["yesButtonClicked", "noButtonClicked"])
def test_a_user_who_is_there_is_asked_about_a_criterion_in_every_permission_mode(scene: Path, answer: str) -> None:
    """What it changes out of scope is not put back then: it may be theirs."""
    intents(scene, CHECKED)

    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        assert isinstance(ask.asked, ApprovalAsk)
        assert ask.asked.verdict.reason.startswith("Bash does not say which files it changes, and INT-001 owns")
        await stage.answer(answer)
        await stage.until_ask("completion_result")

    evil = "from pathlib import Path\nPath('secret.txt').write_text('changed')\n"
    calls = (SELECT, write("src/auth/check.py", evil), call("execute_command", command=CHECK))
    play(scene, turns(*calls), story, permission_mode="bypassPermissions")
    assert ((scene / "secret.txt").read_text() == "changed") == (answer == "yesButtonClicked")


WITHOUT: dict[str, dict[str, Any]] = {
    "checkpoints": {**RULED, "settings": {"checkpoints": {"enabled": False}}},
    "a sandbox": {**RULED, "settings": {"sandbox": {"enabled": False}}},
    "either question or sandbox": {"permission_mode": "bypassPermissions"},
}


@pytest.mark.parametrize("missing", WITHOUT)
def test_where_nothing_contains_a_criterion_it_needs_a_user(scene: Path, missing: str) -> None:
    intents(scene, CHECKED)
    calls = (SELECT, write("src/auth/check.py", "open('secret.txt', 'w')\n"), call("execute_command", command=CHECK))
    told = results(scene, *calls, **WITHOUT[missing])
    assert json.loads(told[-1])["code"] == "REQ-002" and (scene / "secret.txt").read_text() == "kept\n"


@pytest.mark.parametrize("way", [way for way in OTHERWISE if way.startswith("a criterion ")])
def test_a_criterion_is_contained_only_as_it_stands_there(scene: Path, way: str) -> None:
    intents(scene, CHECKED)
    evil = write("src/auth/check.py", "open('secret.txt', 'w')\n")
    told = results(scene, SELECT, evil, OTHERWISE[way], **RULED)
    assert json.loads(told[-1])["code"] == "REQ-002" and (scene / "secret.txt").read_text() == "kept\n"

"""Skills and prompt commands in sessions; the log shows what was sent to the model."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.log.chain.reader import load
from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.session_log import log_text
from tests.harness.terminal import Terminal

DONE = {"text": "Done."}


def write_skill(directory: Path, text: str, name: str = "SKILL.md") -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(text)


def last_log(robota: Robota) -> str:
    """The text of the log, which contains the turns of every request."""
    return log_text(sessions(robota)[-1])


def test_a_user_command_expands_to_its_prompt(robota: Robota) -> None:
    script(robota, DONE)
    write_skill(robota.home / ".claude/commands", "---\ndescription: Reviews\n---\nReview $0 closely.", "inspect.md")
    done = robota("-p", "/inspect src/a.py")
    assert (done.code, done.stdout) == (0, "Done.\n")
    assert "Review src/a.py closely." in last_log(robota)


@pytest.mark.parametrize("agent", [".roo", ".opencode", ".cursor", ".codex", ".gemini"])
def test_skills_for_other_agents_work_after_trust(robota: Robota, agent: str) -> None:
    script(robota, DONE)
    write_skill(robota.workspace / agent / "commands", "---\ndescription: Ships\nmode: code\n---\nShip $1.", "ship.md")
    write_skill(robota.workspace / agent / "skills/pdf", "---\nname: pdf\ndescription: Makes PDFs\n---\nDraw it.")
    assert robota("-p", "/ship it").code == 2
    assert f"{agent}/commands/ship.md" in robota("trust", "--yes").stdout
    assert robota("-p", "/ship it").code == 0
    log = last_log(robota)
    assert "Ship it." in log and "- pdf: Makes PDFs" in log


def test_skills_are_in_the_system_prompt_and_the_skill_tool_returns_their_text(robota: Robota) -> None:
    script(robota, {"calls": [call("skill", skill="deploy", args="to staging")]}, DONE)
    text = "---\nname: deploy\ndescription: How we deploy\n---\nCall the captain. $ARGUMENTS"
    write_skill(robota.home / ".robota/skills/deploy", text)
    assert robota("-p", "put it out").code == 0
    log = last_log(robota)
    assert "- deploy: How we deploy" in log and "Call the captain. to staging" in log


def test_a_command_file_without_a_description_is_only_for_the_user(robota: Robota) -> None:
    script(robota, DONE, DONE)
    write_skill(robota.home / ".claude/commands", "Tidy up.", "tidy.md")
    write_skill(robota.home / ".claude/commands", "---\ndescription: Ships it\n---\nShip.", "ship.md")
    assert robota("-p", "go on").code == 0
    log = last_log(robota)
    assert "- ship: Ships it" in log and "- tidy:" not in log
    assert robota("-p", "/tidy").code == 0 and "Tidy up." in last_log(robota)


def test_the_model_of_a_command_answers_until_the_turn_ends(robota: Robota) -> None:
    write_skill(robota.home / ".claude/commands", "---\nmodel: clever\n---\nThink.", "think.md")
    script(robota, {"calls": [call("list_files", path=".")]}, {"text": "thought"}, {"text": "plain"})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/think")
        terminal.wait_for("thought")
        terminal.answer("> ", "and now?")
        terminal.wait_for("plain")
        terminal.hang_up()  # a turn is in the log once its answer has ended, which is after its first words appear
    [directory] = sessions(robota)
    records = load(directory / "log.jsonl").records
    turns = [json.loads(bytes(record.payload))["turn"] for record in records if record.kind == "turn"]
    assert [turn["model"] for turn in turns if "model" in turn] == ["clever", "clever", "scripted"]


@pytest.mark.parametrize(
    ("rules", "is_loaded"),
    [
        ({"deny": ["Skill(deploy)"]}, False),
        ({"deny": ["Skill(deploy *)"]}, False),
        ({"ask": ["Skill(dep*)"]}, False),
        ({"deny": ["Skill"]}, False),
        ({"deny": ["Skill(other)"]}, True),
        ({"allow": ["Skill(deploy)"]}, True),
    ],
)
def test_rules_name_the_skills_that_the_model_may_load(
    robota: Robota, rules: dict[str, list[str]], is_loaded: bool
) -> None:
    script(robota, {"calls": [call("skill", skill="deploy")]}, DONE)
    write_skill(robota.home / ".claude/skills/deploy", "---\nname: deploy\ndescription: D\n---\nCall the captain.")
    done = robota("-p", "go", "--settings", json.dumps({"permissions": rules}))
    assert (done.code, "not valid" in done.stderr) == (0, False)
    assert ("Call the captain." in last_log(robota)) is is_loaded


def test_mentions_in_a_command_are_expanded_like_typed_ones(robota: Robota) -> None:
    for name in ("style", "api", "printed"):
        (robota.workspace / f"{name} guide.md").write_text(f"The {name} guide.\n")
    script(robota, DONE)
    text = 'Follow @style\\ guide.md and @"$0 guide.md". !`echo @printed\\ guide.md`'
    write_skill(robota.home / ".claude/commands", text, "check.md")
    assert robota("-p", "/check api", "--allowed-tools", "Bash(echo *)").code == 0
    log = last_log(robota)
    assert "1 | The style guide." in log and "1 | The api guide." in log
    assert "The printed guide." not in log, "what a command prints is data"


def test_command_output_is_inserted_verbatim(robota: Robota) -> None:
    script(robota, DONE)
    text = "On !`echo main`, empty !`true`, failed !`cat missing`."
    write_skill(robota.home / ".claude/commands", text, "branch.md")
    assert robota("-p", "/branch", "--allowed-tools", "Bash(echo *),Bash(true),Bash(cat *)").code == 0
    log = last_log(robota)
    assert "On main, empty , failed " in log and "Exit code: 1" in log


def test_commands_of_the_same_name_in_two_directories_get_unique_names(robota: Robota) -> None:
    for directory in ("backend", "frontend"):
        write_skill(robota.home / ".claude/commands" / directory, f"Build the {directory}.", "component.md")
    for typed, words in {
        "component": "Build the backend.",
        "backend:component": "Build the backend.",
        "frontend:component": "Build the frontend.",
    }.items():
        script(robota, DONE)
        assert robota("-p", f"/{typed}").code == 0
        assert words in last_log(robota)
    listed = robota("skills", "list").stdout
    assert "component " in listed and "frontend:component " in listed and "hidden" not in listed


def test_a_command_of_gemini_holds_arguments_commands_and_files(robota: Robota) -> None:
    (robota.workspace / "best practice.md").write_text("Be kind.\n")
    script(robota, DONE)
    prompt = "Review {{args}} by @{best practice.md}, seen: !{echo {{args}} | cat}, for $5."
    write_skill(robota.home / ".gemini/commands/git", f'prompt = """{prompt}"""', "check.toml")
    assert robota("-p", "/git:check a;b", "--allowed-tools", "Bash(echo *),Bash(cat *)").code == 0
    log = last_log(robota)
    assert "Review a;b by" in log and "1 | Be kind." in log and "for $5." in log
    assert "echo 'a;b' | cat" in log


def test_arguments_that_cannot_be_quoted_in_a_command_stop_the_prompt(robota: Robota) -> None:
    script(robota, DONE)
    write_skill(robota.home / ".robota/commands", "```!\ncat <<E\n$0\nE\n```", "note.md")
    done = robota("-p", "/note $(touch made)", "--permission-mode", "bypassPermissions")
    assert done.code == 1 and "cannot be put safely" in done.stderr
    assert not (robota.workspace / "made").exists()


def test_without_skills_the_model_has_no_skill_tool(robota: Robota) -> None:
    script(robota, {"calls": [call("skill", skill="deploy")]}, DONE)
    robota("-p", "go")
    assert "There is no tool 'skill'" in last_log(robota) and "# Skills" not in last_log(robota)


def test_skills_of_a_workspace_are_used_only_after_trust(robota: Robota) -> None:
    script(robota, DONE)
    write_skill(robota.workspace / ".claude/skills/deploy", "---\ndescription: theirs\n---\nTheir words.")
    before = robota("-p", "/deploy")
    assert before.code == 2 and "There is no command /deploy." in before.stderr
    assert robota("trust", "--yes").code == 0
    assert robota("-p", "/deploy").code == 0
    assert "Their words." in last_log(robota)


def test_a_command_in_a_skill_runs_under_policy_and_without_permission_nothing_is_sent(robota: Robota) -> None:
    script(robota, DONE)
    write_skill(robota.home / ".robota/commands", "Now: !`touch made`", "make.md")
    done = robota("-p", "/make")
    assert done.code == 1 and "was not allowed" in done.stderr
    assert not (robota.workspace / "made").exists() and "<skill" not in last_log(robota)


def test_the_output_of_a_read_only_command_is_inserted(robota: Robota) -> None:
    script(robota, DONE)
    (robota.workspace / "there.txt").write_text("x")
    write_skill(robota.home / ".robota/commands", "Files:\n!`ls $0`", "files.md")
    assert robota("-p", "/files '; touch made #'").code == 0
    assert not (robota.workspace / "made").exists()
    assert robota("-p", "/files .").code == 0
    assert "there.txt" in last_log(robota)


def test_a_skill_never_shadows_a_built_in_command(robota: Robota) -> None:
    script(robota, DONE)
    write_skill(robota.home / ".robota/commands", "Mine.", "cost.md")
    assert "tokens in" in robota("-p", "/cost").stdout


def test_a_command_that_a_built_in_one_hides_is_reached_by_its_source_and_the_list_says_so(robota: Robota) -> None:
    script(robota, DONE)
    write_skill(robota.home / ".claude/commands", "Write the weekly report about $ARGUMENTS.", "report.md")
    assert "hidden by the built-in /report; type /user:report" in robota("skills", "list").stdout
    assert robota("-p", "/user:report tests").code == 0
    assert "Write the weekly report about tests." in last_log(robota)


def test_allowed_tools_of_a_skill_need_no_approval_until_its_prompt_is_answered(robota: Robota) -> None:
    write = {"calls": [call("execute_command", command="touch made")]}
    text = "---\ndescription: d\nallowed-tools: Bash(touch *)\n---\nTouch it."
    write_skill(robota.home / ".robota/skills/toucher", text)
    script(robota, write, DONE, write, DONE)
    with Terminal(robota, "/toucher") as terminal:
        terminal.wait_for("Done.")
        assert (robota.workspace / "made").exists()
        terminal.answer("> ", "and again")
        terminal.wait_for("needs approval in default mode")


@pytest.mark.parametrize("how", ["typed", "called by the model", "in a task of its own"])
def test_disallowed_tools_of_a_skill_are_denied_until_its_prompt_is_answered(robota: Robota, how: str) -> None:
    fork = "context: fork\n" if "task" in how else ""
    text = f"---\ndescription: d\n{fork}disallowed-tools: Bash(touch *)\nallowed-tools: Bash\n---\nOnly look."
    write_skill(robota.home / ".robota/skills/careful", text)
    touch = {"calls": [call("execute_command", command="touch made")]}
    use = [{"calls": [call("skill", skill="careful")]}] if "model" in how else []
    end = [{"calls": [call("attempt_completion", result="It may not.")]}] if fork else []
    script(robota, *use, touch, *end, DONE, touch, {"text": "Finished."})
    prompt = "go" if use else "/careful"
    with Terminal(robota, prompt, "--permission-mode", "bypassPermissions") as terminal:
        terminal.wait_for("Done.")
        assert not (robota.workspace / "made").exists()
        assert "The deny rule Bash(touch *) forbids it." in last_log(robota)
        terminal.answer("> ", "and again")
        terminal.wait_for("Finished.")
    assert (robota.workspace / "made").exists()


def test_a_prompt_after_an_interruption_ends_the_rules_of_a_skill(robota: Robota) -> None:
    text = "---\ndescription: d\nallowed-tools: Bash(touch *)\n---\nTouch it."
    write_skill(robota.home / ".robota/skills/toucher", text)
    slow, touch = ({"calls": [call("execute_command", command=command)]} for command in ("sleep 600", "touch made"))
    script(robota, slow, touch, DONE)
    with Terminal(robota, "/toucher") as terminal:
        terminal.wait_for("Bash sleep 600")
        terminal.press("\x03")
        terminal.answer("> ", "do something else")
        terminal.wait_for("needs approval in default mode")
    assert not (robota.workspace / "made").exists()


@pytest.mark.parametrize("answer", [{"calls": [call("attempt_completion", result="It is the roof.")]}, None])
def test_a_forked_skill_runs_as_a_subtask_that_returns_only_its_answer(
    robota: Robota, answer: dict[str, Any] | None
) -> None:
    """Whether the model completes it with the tool or answers in plain text, as with other agents."""
    write_skill(robota.home / ".robota/skills/deep", "---\ndescription: d\ncontext: fork\n---\nThink hard about $0.")
    script(robota, answer or {"text": "It is the roof."}, {"text": "The roof, then."})
    assert robota("-p", "/deep walls").stdout == "The roof, then.\n"
    records = [json.loads(line) for line in last_log(robota).splitlines()]
    turns = {
        words: {r["payload"]["taskId"] for r in records if r["kind"] == "turn" and words in json.dumps(r)}
        for words in ("Think hard about walls.", "It is the roof.", "The roof, then.")
    }
    [child], [parent] = turns["Think hard about walls."], turns["The roof, then."]
    assert child != parent and turns["It is the roof."] == {child, parent}


def test_max_turns_counts_only_requests_of_the_fork_and_returns_its_last_words(robota: Robota) -> None:
    text = "---\ndescription: d\ncontext: fork\nmax-turns: 2\n---\nLook around."
    write_skill(robota.home / ".robota/skills/look", text)
    look = [call("list_files", path=".")]
    fork = [{"text": "First look.", "calls": look}, {"text": "Still looking.", "calls": look}]
    ends = {"expect": {"result": "Still looking."}, "text": "Enough."}
    script(robota, {"calls": look}, {"calls": look}, {"calls": [call("skill", skill="look")]}, *fork, ends)
    done = robota("-p", "go")
    assert (done.code, done.stdout) == (0, "Enough.\n"), done.stderr
    assert "stopped after 2 requests" in last_log(robota)


def test_skills_are_listed_by_help_and_appear_while_the_session_runs(robota: Robota) -> None:
    script(robota, DONE)
    write_skill(robota.home / ".robota/commands", "---\ndescription: The first\n---\nOne.", "one.md")
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/help")
        terminal.wait_for("The first")
        write_skill(robota.home / ".robota/commands", "---\ndescription: The second\n---\nTwo.", "two.md")
        terminal.answer("> ", "/two")
        terminal.wait_for("Done.")
    assert "Two." in last_log(robota)


def test_skills_added_to_a_running_session_are_found(robota: Robota) -> None:
    script(robota, DONE, {"text": "Finished."})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/inspect")
        terminal.wait_for("There is no command /inspect.")
        write_skill(robota.workspace / ".claude/commands", "Inspect it.", "inspect.md")
        terminal.answer("> ", "/inspect")
        terminal.wait_for("There is no command /inspect.")
        assert robota("trust", "--yes").code == 0
        terminal.answer("> ", "/inspect")
        terminal.wait_for("Done.")
        write_skill(robota.home / ".robota/skills/greet", "---\ndescription: d\n---\nGreet them.")
        terminal.answer("> ", "/greet")
        terminal.wait_for("Finished.")
    assert "Inspect it." in last_log(robota) and "Greet them." in last_log(robota)
    assert "# Skills" not in last_log(robota), "the beginning of requests stays the same"


def test_a_resumed_session_accepts_a_command(robota: Robota) -> None:
    write_skill(robota.home / ".robota/commands", "Greet $0 warmly.", "greet.md")
    script(robota, DONE)
    assert robota("-p", "hello").code == 0
    script(robota, {"expect": {"user": "Greet Ann warmly."}, "text": "Dear Ann."})
    with Terminal(robota, "-c") as terminal:
        terminal.answer("> ", "/greet Ann")
        terminal.wait_for("Dear Ann.")


def test_a_changed_project_command_is_used_once_it_is_trusted(robota: Robota) -> None:
    script(robota, DONE, DONE, DONE)
    commands = robota.workspace / ".claude/commands"
    write_skill(commands, "The first words.", "inspect.md")
    assert robota("trust", "--yes").code == 0
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/inspect")
        terminal.wait_for("Done.")
        write_skill(commands, "Quite other words.", "inspect.md")
        write_skill(commands, "A second command.", "second.md")
        terminal.answer("> ", "/inspect")
        terminal.wait_for("changed since you trusted it")
        terminal.wait_for("Done.")
        assert "Quite other words." not in last_log(robota)
        assert robota("trust", "--yes").code == 0
        terminal.answer("> ", "/inspect")
        terminal.wait_for("Done.")
        terminal.answer("> ", "/help second")
        terminal.wait_for("/second")
    assert "Quite other words." in last_log(robota)


def test_a_new_user_command_is_found_at_the_next_prompt(robota: Robota) -> None:
    script(robota, DONE)
    commands = robota.home / ".robota/commands"
    write_skill(commands, "One.", "one.md")
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/help one")
        terminal.wait_for("/one")
        write_skill(commands, "The words of two.", "two.md")
        terminal.answer("> ", "/two")
        terminal.wait_for("Done.")
    assert "The words of two." in last_log(robota)

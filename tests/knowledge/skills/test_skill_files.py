"""Files of skills and commands: whatever they contain, never an error, no text lost, always limited."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robota.contracts.knowledge import PromptNotSent
from robota.contracts.tool import ToolResult
from robota.knowledge.session_knowledge import LIST_CHARACTERS, SessionKnowledge
from robota.knowledge.skills.discovery import (
    MAX_FILES,
    SKILL_DIRECTORIES,
    SkillDirectory,
    SkillFinder,
    SkillSource,
    read_skill,
    user_skill_files,
)
from robota.knowledge.skills.gemini_command import gemini_front_matter, parse_gemini_prompt
from robota.knowledge.skills.skill import SkillKind, SkillScope
from robota.knowledge.skills.template import Literal, Part, Placeholder, Shell
from tests.cli.scripts import script
from tests.harness.cli import Robota

COMMANDS = SkillDirectory(SkillScope.USER, ".robota/commands", SkillKind.COMMAND)


def source(name: str, data: bytes) -> SkillSource:
    return SkillSource(name, f"/nowhere/{name}", "1", lambda: data)


def library_of(directory: Path) -> SkillFinder:
    def files(skills: SkillDirectory) -> list[SkillSource]:
        return list(user_skill_files(directory)) if skills == SKILL_DIRECTORIES[0] else []

    return SkillFinder(files, directory.parent / "cache.json")


fields = st.sampled_from(
    ["name", "description", "allowed-tools", "model", "max-turns", "context", "arguments", "invocation", "odd", "on"]
)
values = st.sampled_from(["x", "3", "-1", "[a, b]", "{a: b}", "null", "true", "'", "|", "&a", "*a", "!!x y", "\x1b[1m"])
heads = st.lists(st.tuples(fields, values).map(": ".join), max_size=6).map("\n".join)


@pytest.mark.parametrize("hint", ["[file]", "[file] [line]", "add [id] | list", "<file>", "[a, b]"])
def test_an_argument_hint_is_shown_as_written(hint: str) -> None:
    skill = read_skill(COMMANDS, source("inspect.md", f"---\nargument-hint: {hint}\ndescription: D\n---\n".encode()))
    assert skill is not None
    assert (skill.argument_hint, skill.description, skill.problems) == (hint, "D", ())


def test_problems_name_the_unusable_name_and_value() -> None:
    skill = read_skill(COMMANDS, source("two words.md", b"---\ndescription: D\ncontext: fork\nmax-turns: true\n---\n"))
    assert skill is not None and skill.max_turns is None
    assert skill.problems == ("the name 'two words' is not a valid command name", "max-turns is not a number")


@given(heads, st.text(max_size=80))
@example("name: &a [*a]", "body")
def test_no_front_matter_makes_reading_a_skill_fail(head: str, body: str) -> None:
    skill = read_skill(COMMANDS, source("inspect.md", f"---\n{head}\n---\n{body}".encode("utf-8", "replace")))
    assert skill is not None
    assert skill.name.isprintable() and " " not in skill.name
    assert len(skill.description) < 10_000


@pytest.mark.parametrize("name", [".#deploy.md", ".hidden.md", "git/.deploy.toml"])
def test_hidden_files_are_no_commands(name: str) -> None:
    """Editors keep locks and drafts under such names."""
    assert read_skill(COMMANDS, source(name, b"Text.")) is None


def test_a_file_in_utf_16_is_read(tmp_path: Path) -> None:
    skill = read_skill(COMMANDS, source("wide.md", "---\ndescription: Weit – größer\n---\nText.".encode("utf-16")))
    assert skill is not None and skill.description == "Weit – größer" and not skill.problems


@given(st.binary(max_size=200), st.sampled_from(["a.md", "a.toml", "b/c.md", "d e.md", "\x1b[2J.md", "x.txt"]))
def test_no_bytes_make_reading_a_skill_fail(data: bytes, name: str) -> None:
    skill = read_skill(COMMANDS, source(name, data))
    assert (skill is None) == name.endswith(".txt")


def written(part: Part) -> str:
    match part:
        case Literal(text):
            return text
        case Placeholder():
            return part.written
        case Shell(parts):
            return "!{" + "".join(map(written, parts)) + "}"


@given(st.lists(st.sampled_from(["!{", "{{args}}", "{", "}", "a b", "$1", "`", "\\", "\n"])).map("".join))
def test_parsing_a_gemini_prompt_loses_nothing(prompt: str) -> None:
    assert "".join(map(written, parse_gemini_prompt(prompt))) == prompt


def test_gemini_commands_may_contain_braces_and_backquotes() -> None:
    [command, rest] = parse_gemini_prompt("!{awk '{print $1}' `ls` {{args}}} and !{ never ends")
    assert written(command) == "!{awk '{print $1}' `ls` {{args}}}" and isinstance(command, Shell)
    assert rest == Literal(" and !{ never ends")
    assert len(parse_gemini_prompt("!{" * 50_000)) == 1


def test_a_gemini_path_becomes_a_mention() -> None:
    assert "".join(map(written, parse_gemini_prompt("See @{ my guide.md }."))) == 'See @"my guide.md".'


@given(st.text(max_size=80))
@example('prompt = """' + "[" * 500 + '"""')
@example("a = " + "[" * 5_000)
def test_no_text_makes_reading_a_gemini_command_fail(text: str) -> None:
    read = gemini_front_matter(text)
    assert read.problem is None or (read.fields, read.text) == ({}, "")


async def never_called(tool: str, arguments: dict[str, Any]) -> ToolResult:
    raise AssertionError(tool)


def test_very_many_skills_are_bounded_in_number_and_in_the_system_prompt(tmp_path: Path) -> None:
    directory = tmp_path / "skills"
    for number in range(10_000):
        (directory / f"s{number}").mkdir(parents=True)
        (directory / f"s{number}/SKILL.md").write_text(f"---\ndescription: {'long ' * 30}\n---\n")
    finder = library_of(directory)
    knowledge = SessionKnowledge(finder, "execute_command", lambda skill: {})
    assert len(knowledge.commands()) == MAX_FILES
    assert finder.cut_directories == (SKILL_DIRECTORIES[0].path,), "that more is there can be said"
    listed = knowledge.prompt_section.partition("\n- ")[2].splitlines()
    assert LIST_CHARACTERS * 0.9 < len("\n".join(listed)) < LIST_CHARACTERS
    assert listed[-1].startswith(f"{MAX_FILES - len(listed) + 1:,} more skills are not listed.")
    with pytest.raises(
        PromptNotSent, match=r"Choose one of those with this in their name: s.*99.* and \d+ more\.$"
    ) as refused:
        asyncio.run(knowledge.skill("9", "", never_called))
    assert len(str(refused.value)) < 2_000


def test_descriptions_are_shortened_before_skills_are_left_out(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"skills/s{number:02}").mkdir(parents=True)
        (tmp_path / f"skills/s{number:02}/SKILL.md").write_text(f"---\ndescription: {'long ' * 100}\n---\n")
    section = SessionKnowledge(library_of(tmp_path / "skills"), "execute_command", lambda skill: {}).prompt_section
    names = [line[2:5] for line in section.splitlines() if line.startswith("- ")]
    assert names == [f"s{number:02}" for number in range(100)] and section.count("long long long") >= 100
    assert len(section) < LIST_CHARACTERS + 300 and "more skills" not in section


def test_a_very_long_description_is_cut(robota: Robota) -> None:
    script(robota, {"text": "Done."})
    skill = robota.home / ".robota/skills/huge"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\ndescription: {'x' * 1_000_000}\n---\nThe body.")
    done = robota("-p", "/help")
    assert done.code == 0 and len(done.stdout) < 50_000
    assert robota("-p", "hello").stdout == "Done.\n"
    refused = robota("-p", "/huge")
    assert refused.code == 1 and "/huge has no instructions (it is longer than 262,144 bytes)" in refused.stderr


def test_a_file_that_cannot_be_read_is_not_sent_as_an_empty_prompt(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    commands = robota.home / ".gemini/commands"
    commands.mkdir(parents=True)
    (commands / "broken.toml").write_text('prompt = "never ends\n')
    done = robota("-p", "/broken please")
    assert (done.code, done.stdout) == (1, "")
    assert "The prompt was not sent: /broken has no instructions (it is not TOML: " in done.stderr


@pytest.mark.parametrize("model", ["inherit", "sonnet", "opus", "haiku"])
def test_an_alias_of_a_model_of_claude_code_means_the_model_of_the_session(model: str) -> None:
    skill = read_skill(COMMANDS, source("deep.md", f"---\ncontext: fork\nmodel: {model}\n---\nThink.".encode()))
    assert skill is not None and skill.model is None
    assert bool(skill.problems) is (model != "inherit")


@pytest.mark.parametrize("name", ["help", "exit", "HELP"])
def test_a_skill_that_shadows_a_built_in_command_does_not_replace_it(robota: Robota, name: str) -> None:
    script(robota, {"text": "Never said."})
    skill = robota.home / ".robota/skills" / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\ndescription: mine\n---\nMy words.")
    done = robota("-p", f"/{name.lower()}")
    assert done.code == 0 and "Never said." not in done.stdout


def test_control_characters_in_names_and_descriptions_reach_no_terminal(robota: Robota) -> None:
    script(robota, {"text": "Done."})
    commands = robota.home / ".robota/commands"
    commands.mkdir(parents=True)
    (commands / "a\x1b[2Jb.md").write_text("One.")
    (commands / "two.md").write_bytes(b'---\ndescription: "x\\e[31mred"\n---\nTwo.')
    for typed in ("/help", "/skills"):
        shown = robota("-p", typed)
        assert "\x1b" not in shown.stdout + shown.stderr and "/two" in shown.stdout

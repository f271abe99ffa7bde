"""Help: on two screens, by topic, and for those who come from elsewhere."""

import re
from pathlib import Path

import pytest

from robota.cli.help.command_shapes import CommandShape, main_shape
from robota.cli.subcommands import EVERYDAY, SUBCOMMANDS
from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal

ROWS, COLUMNS = 48, 80
# What users of other agents type out of habit.
FLAGS_OF_OTHERS = """
    --print --continue --resume --fork-session --session-id --name --model --effort --fallback-model
    --permission-mode --allowedTools --disallowedTools --tools --add-dir --agent --agents --mcp-config
    --strict-mcp-config --settings --setting-sources --system-prompt --system-prompt-file --append-system-prompt
    --append-system-prompt-file --output-format --input-format --json-schema --max-turns --max-budget-usd
    --permission-prompt-tool --plugin-dir --no-session-persistence --worktree --bare --safe-mode --verbose --debug
    --dangerously-skip-permissions --yolo --bg
"""


def test_the_first_page_fits_two_screens_and_begins_with_commands_and_examples(robota: Robota) -> None:
    page = robota("--help").stdout
    rows = page.splitlines()
    assert len(rows) <= ROWS and max(map(len, rows)) < COLUMNS
    assert page.index("Commands") < page.index("Examples") < page.index("Options") < page.index("Topics")
    assert [name for name in SUBCOMMANDS if not re.search(rf"\b{name}\b", page)] == []
    assert set(EVERYDAY) <= SUBCOMMANDS.keys()


def test_help_is_the_same_however_it_is_asked_for(robota: Robota) -> None:
    assert robota("--help") == robota("help") == robota("-h") == robota("-p", "go", "--help")


def test_every_option_of_the_first_page_exists(robota: Robota) -> None:
    page, all_options = robota("--help").stdout, robota("help", "options").stdout
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page)) - {"--fix"}
    assert named <= set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", all_options))


def test_a_topic_is_the_page_of_the_documentation(robota: Robota) -> None:
    docs = Path(__file__).parents[3] / "docs"
    shown = robota("help", "glossary").stdout
    assert shown.splitlines()[0] == (docs / "glossary.md").read_text().splitlines()[0]
    assert "](" not in robota("help", "terminal").stdout
    topics = robota("help", "topics").stdout
    assert [page.stem for page in docs.glob("*.md") if page.stem not in topics] == []


def test_a_command_with_a_page_shows_both(robota: Robota) -> None:
    shown = robota("help", "worktree").stdout
    assert shown.startswith("usage: robota worktree") and "# Worktrees" in shown


def test_an_unknown_topic_is_answered_with_the_nearest(robota: Robota) -> None:
    done = robota("help", "sesions")
    assert done.code == 2 and "Did you mean sessions?" in done.stderr
    assert "has no action 'lst'. Did you mean list?" in robota("help", "sessions", "lst").stderr


def test_a_page_is_drawn_on_a_terminal(robota: Robota) -> None:
    with Terminal(robota, "help", "tutorial", env={"TERM": "xterm", "PAGER": "cat"}, size=(80, 24)) as terminal:
        assert terminal.end() == 0
    assert "\x1b[" in terminal.screen and "# Tutorial" not in terminal.screen
    assert "u001b" not in terminal.screen and "$ " in terminal.screen


@pytest.mark.parametrize("flag", FLAGS_OF_OTHERS.split())
def test_a_flag_of_another_agent_works_or_says_what_to_use(robota: Robota, flag: str) -> None:
    if re.search(rf"(?<![\w-]){flag}\b", robota("help", "options").stdout):
        return
    done = robota("-p", "go", flag)
    assert done.code == 2
    assert re.search(rf"There is no option {flag}\. (?!Did you mean)\S", done.stderr), done.stderr


@pytest.mark.parametrize("flag", ["--yolo", "--dangerously-skip-permissions"])
def test_everything_may_run_by_either_name(robota: Robota, flag: str) -> None:
    script(
        robota, {"calls": [{"name": "write_to_file", "arguments": {"path": "a.txt", "content": "x"}}]}, {"text": "ok"}
    )
    assert robota("-p", "go", flag).code == 0
    assert (robota.workspace / "a.txt").read_text().strip() == "x"


def test_settings_and_prompts_come_from_files(robota: Robota) -> None:
    script(robota, {"expect": {"user": "from the file"}, "text": "ok"})
    (robota.workspace / "prompt.md").write_text("from the file\n")
    (robota.workspace / "system.md").write_text("Be brief.")
    done = robota("-p", "--input-file", "prompt.md", "--append-system-prompt-file", "system.md")
    assert (done.code, done.stdout) == (0, "ok\n"), done.stderr
    log = next((robota.workspace / ".robota/sessions").glob("*/log.jsonl")).read_text()
    assert "Be brief." in log
    rules = '{"permissions": {"deny": ["Read"]}}'
    script(robota, {"calls": [call("read_file", path="prompt.md")]}, {"text": "ok"})
    denied = robota("-p", "go", "--settings", rules, "--output-format", "json")
    assert denied.code == 0 and '"tool_name":"Read"' in denied.stdout, denied.stdout + denied.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--settings", "nothing.json"], "nothing.json cannot be read"),
        (["--settings", "{"], "is not JSON"),
        (["--mcp-config", "{}"], "mcpServers"),
        (["--system-prompt", "a", "--system-prompt-file", "b"], "not both"),
        (["--input-file", "."], "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_starts_nothing(robota: Robota, arguments: list[str], told: str) -> None:
    script(robota, {"text": "the model was asked"})
    done = robota("-p", "go", *arguments)
    assert (done.code, done.stdout) == (2, "") and told in done.stderr


def test_version_with_verbose_has_what_a_report_needs(robota: Robota) -> None:
    told = robota("--version", "--verbose")
    assert told.code == 0
    for word in ("robota", "python", "system", "installed in", "settings in", "terminal", "locale", "msgspec"):
        assert re.search(rf"^{word}  +\S", told.stdout, re.MULTILINE), told.stdout


def all_shapes(shape: CommandShape) -> list[CommandShape]:
    return [shape, *(below for action in shape.actions for below in all_shapes(action))]


def test_every_command_prints_its_options() -> None:
    """Completions and the man page are made from them."""
    main = main_shape()
    assert [command.name for command in main.actions] == list(SUBCOMMANDS)
    assert all(option.flags for shape in all_shapes(main) for option in shape.options)


def test_every_help_fits_a_terminal_of_80_columns() -> None:
    """The page holds what every command says with --help; another test holds it against the program."""
    page = Path(__file__).parents[3] / "docs/reference/command-line.md"
    assert [line for line in page.read_text().splitlines() if len(line) > 80] == []

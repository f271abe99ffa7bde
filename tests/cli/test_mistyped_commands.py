"""What a user sees who types something that is nearly right."""

import pytest

from tests.cli.scripts import script
from tests.harness.cli import Robota


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["sesions", "list"], "robota sessions list"),
        (["tools"], "robota tool"),
        (["Doctor"], "robota doctor"),
        (["configure"], "robota --configure"),
    ],
)
def test_a_misspelt_command_is_asked_about_and_starts_no_task(robota: Robota, words: list[str], meant: str) -> None:
    finished = robota(*words)
    assert (finished.code, finished.stdout) == (2, "")
    assert f"Did you mean: {meant}\n" in finished.stderr
    assert f'robota -p "{" ".join(words)}"' in finished.stderr
    assert not (robota.workspace / ".robota").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["auth"], "robota login"),
        (["setup", "anthropic"], "robota --configure"),
        (["exec", "fix it"], "robota -p PROMPT"),
        (["run", "fix it"], "robota -p PROMPT"),
        (["review"], "robota -p /review"),
        (["ide"], "robota help editors"),
        (["agent"], "robota agents list"),
        (["upgrade"], "robota update"),
        (["model"], "robota models"),
        (["resume"], "robota --continue"),
        (["resume", "20260101-x"], "robota --continue"),
        (["continue"], "robota --continue"),
        (["history"], "robota sessions list"),
        (["settings", "--json"], "robota config show"),
    ],
)
def test_a_command_of_other_agents_gets_a_hint_to_its_counterpart(robota: Robota, words: list[str], told: str) -> None:
    """These words are not sent to a model as a prompt."""
    script(robota, {"text": "the model was asked"})
    finished = robota(*words)
    assert (finished.code, finished.stdout) == (2, "")
    assert f"There is no command {words[0]!r}." in finished.stderr and told in finished.stderr
    assert not (robota.workspace / ".robota").exists()


@pytest.mark.parametrize(
    ("option", "told"),
    [("-P", "--print (-p)"), ("--headless", "--print (-p)"), ("--no-tui", "--plain"), ("-m", "--model MODEL")],
)
def test_an_option_of_other_agents_gets_a_hint_to_its_counterpart(robota: Robota, option: str, told: str) -> None:
    finished = robota(option, "hi")
    assert finished.code == 2 and f"There is no option {option}." in finished.stderr and told in finished.stderr


@pytest.mark.parametrize("option", ["--rest", "--resett", "--rset"])
def test_deleting_the_settings_is_never_proposed(robota: Robota, option: str) -> None:
    assert "Did you mean --reset" not in robota(option).stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-y", "-p", "go"], "--yes answers only the questions of --reset and --resume"),
        (["--base-url", "http://x/v1", "-p", "go"], "--base-url belongs to a profile"),
        (["--api-key-env", "KEY", "-p", "go"], "--api-key-env belongs to a profile"),
        (["--reset", "--yes", "-p", "go"], "--reset starts no task"),
        (["--check-update", "go"], "--check-update starts no task"),
        (["--reset", "--configure"], "cannot be combined"),
        (["--include-partial-messages", "-p", "go"], "needs --output-format"),
        (["--provider", "script", "--configure-provider", "b", "--type", "scripted", "-p", "go"], "different profiles"),
    ],
)
def test_an_option_without_effect_is_refused(robota: Robota, arguments: list[str], told: str) -> None:
    script(robota, {"text": "the model was asked"})
    settings = (robota.home / ".robota/settings.json").read_text()
    finished = robota(*arguments)
    assert (finished.code, finished.stdout) == (2, "") and told in finished.stderr
    assert (robota.home / ".robota/settings.json").read_text() == settings


def test_words_and_options_of_a_prompt_may_be_mixed(robota: Robota) -> None:
    script(robota, {"expect": {"user": "fix the bug"}, "text": "fixed"})
    finished = robota("-p", "fix", "--max-turns", "3", "the bug")
    assert finished.stdout == "fixed\n", finished.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "sesions"],
        ["sesions", "list", "-p"],
        ["sesions list please"],
        ["explain", "this", "project"],
        ["update", "the", "readme"],
    ],
)
def test_a_prompt_is_a_prompt(robota: Robota, words: list[str]) -> None:
    finished = robota(*words)
    assert finished.code == 3
    assert "No provider is configured" in finished.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bse-url", "x"], "There is no option --bse-url. Did you mean --base-url?"),
        (
            ["-p", "x", "--output-format", "jsn"],
            "not one of text, json, stream-json, messages, codex. Did you mean json?",
        ),
        (["-p", "x", "--permission-mode", "accept"], "Did you mean acceptEdits?"),
        (["-p", "x", "--input-format", "stream-json"], "prompts are lines on standard input; 'x' is none"),
        (["-p", "x", "-m", "gpt"], "There is no option -m. Use --model MODEL"),
        (["config", "shwo"], "'shwo' is not one of show, get, set, unset, path, schema. Did you mean show?"),
        (["policy", "explan"], "'explan' is not one of explain, test, simulate. Did you mean explain?"),
        (["policy", "explain", "--rulez", "x"], "There is no option --rulez. Did you mean --rules?"),
        (["sessions", "list", "--jsn"], "There is no option --jsn. Did you mean --json?"),
        (["rewind", "undo", "--only", "a"], "--only does not belong to this action."),
        (["sessions", "--jsn"], "There is no option --jsn. Did you mean --json?"),
        (["sessions", "--json"], "--json must come after the action"),
        (["-p", "x", "--json"], "There is no option --json. Use --output-format json"),
        (["policy", "explain", "--sesion"], "There is no option --sesion."),
        (["doctor", "--jsn"], "There is no option --jsn. Did you mean --json?"),
        (["config", "set"], "Missing: KEY, VALUE."),
        (["trust", "list"], "'list' does not belong here."),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_one(robota: Robota, words: list[str], message: str) -> None:
    finished = robota(*words)
    assert (finished.code, finished.stdout) == (2, "")
    assert message in finished.stderr
    assert "Try: robota" in finished.stderr
    assert "usage:" not in finished.stderr


@pytest.mark.parametrize("command", ["sessions", "tool", "config", "policy", "protocol"])
def test_a_command_without_an_action_shows_the_actions(robota: Robota, command: str) -> None:
    finished = robota(command)
    assert (finished.code, finished.stdout) == (2, "")
    assert finished.stderr == robota(command, "--help").stdout


def test_help_and_version_are_understood_as_words(robota: Robota) -> None:
    assert robota("help") == robota("--help")
    assert robota("help", "doctor") == robota("doctor", "--help")
    assert robota("help", "sessions", "list") == robota("sessions", "list", "--help")
    assert robota("version") == robota("--version")


def test_every_option_is_explained(robota: Robota) -> None:
    lines = robota("help", "options", env={"COLUMNS": "200"}).stdout.splitlines()
    places = [number for number, line in enumerate(lines) if line.startswith("  -")]
    bare = [lines[n] for n in places if "  " not in lines[n].strip() and not lines[n + 1].startswith("      ")]
    assert bare == []


def test_a_setting_that_does_not_exist_is_named_with_the_one_that_does(robota: Robota) -> None:
    assert robota("config", "get", "lnguage").stderr == (
        "robota: lnguage is not set. There is no setting lnguage. Did you mean language?\n"
    )
    assert robota("config", "get", "language").stderr == "robota: language is not set.\n"
    assert "did you mean language? Nothing was written." in robota("config", "set", "lnguage", "de").stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rewind", "list", "--last", "0"], "--last: '0' is not a number from 1.\n"),
        (["rewind", "restore", "two"], "N: 'two' is not a whole number.\n"),
        (["bisect", "--test", "true", "--timeout", "soon"], "--timeout: 'soon' is not a number.\n"),
    ],
)
def test_a_value_of_another_kind_is_named(robota: Robota, words: list[str], told: str) -> None:
    finished = robota(*words)
    assert finished.code == 2 and told in finished.stderr

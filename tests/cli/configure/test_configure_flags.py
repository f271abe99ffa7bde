"""The options that change settings: `--set-current`, `--language`, `--reset`."""

import json

from tests.cli.scripts import call, script, write_settings
from tests.fakellm.server import running
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal


def test_another_profile_becomes_the_current_one(robota: Robota) -> None:
    profile = {"type": "scripted", "options": {"turns": [{"text": "from b"}]}}
    path = write_settings(robota, {"currentProvider": "a", "providers": {"a": {"type": "scripted"}, "b": profile}})
    assert robota("--provider", "b", "--set-current").code == 0
    assert json.loads(path.read_text())["currentProvider"] == "b"
    assert robota("-p", "x").stdout == "from b\n"


def test_it_continues_with_a_prompt(robota: Robota) -> None:
    profile = {"type": "scripted", "options": {"turns": [{"text": "from b"}]}}
    write_settings(robota, {"currentProvider": "a", "providers": {"a": {"type": "scripted"}, "b": profile}})
    done = robota("--provider", "b", "--set-current", "-p", "x")
    assert done.stdout == "from b\n" and "now the current provider" in done.stderr


def test_a_new_profile_answers_the_prompt_beside_it(robota: Robota) -> None:
    """The prompt goes to the new profile, not to the one that was current before."""
    with running() as server:
        script(robota, {"text": "from the old profile"})
        options = ("--type", "openai-compatible", "--base-url", server.url, "--model", "m")
        done = robota("--configure-provider", "b", *options, "-p", "x")
        assert done.code == 0, done.stderr
        assert "from the old profile" not in done.stdout and b'"m"' in server.last_body


def test_a_profile_and_a_language_are_both_kept(robota: Robota) -> None:
    """Two settings in one command are both written."""
    path = write_settings(
        robota, {"currentProvider": "a", "providers": {"a": {"type": "scripted"}, "b": {"type": "scripted"}}}
    )
    assert robota("--provider", "b", "--set-current", "--language", "ko").code == 0
    settings = json.loads(path.read_text())
    assert (settings["currentProvider"], settings["language"]) == ("b", "ko")


def test_a_profile_that_is_not_there_changes_nothing(robota: Robota) -> None:
    path = write_settings(robota, {"currentProvider": "a", "providers": {"a": {"type": "scripted"}}})
    before = path.read_text()
    done = robota("--provider", "x", "--set-current")
    assert done.code == 2 and "Known: a" in done.stderr
    assert robota("--set-current").code == 2
    assert path.read_text() == before


def test_the_language_is_kept_alone_and_used_with_a_prompt(robota: Robota) -> None:
    with running() as server:
        profile = {"type": "openai-compatible", "baseURL": server.url, "model": "m"}
        path = write_settings(robota, {"providers": {"a": profile}})
        assert robota("--language", "ko", "-p", "x").code == 0
        assert "Always respond in Korean." in server.last_body.decode()
        assert "language" not in json.loads(path.read_text())
        assert robota("--language", "ja").code == 0
        assert json.loads(path.read_text())["language"] == "ja"
        assert robota("-p", "x").code == 0
        assert "Always respond in Japanese." in server.last_body.decode()
    assert robota("--language", "x; y").code == 2


def test_reset_asks_and_keeps_a_copy(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    path = robota.home / ".robota/settings.json"
    before = path.read_text()
    assert robota("--reset").code == 1 and path.read_text() == before
    with Terminal(robota, "--reset") as terminal:
        terminal.answer("A backup is kept.", "")
        assert terminal.end() == 1 and path.exists()
    with Terminal(robota, "--reset") as terminal:
        terminal.answer("A backup is kept.", "y")
        assert terminal.end() == 0
    assert not path.exists() and (path.parent / "settings.json.bak").read_text() == before
    assert robota("--reset", "--yes").code == 0


def test_a_setting_of_the_user_denies_and_asks_in_a_real_run(robota: Robota) -> None:
    turns = [{"calls": [call("execute_command", command=command)]} for command in ("touch a", "touch b", "touch c")]
    script(robota, *turns, {"text": "done"})
    path = robota.home / ".robota/settings.json"
    settings = json.loads(path.read_text())
    rules = {"allow": ["Bash(touch *)"], "deny": ["Bash(touch b)"], "ask": ["Bash(touch c)"]}
    path.write_text(json.dumps({**settings, "permissions": rules}))
    assert robota("-p", "x").code == 0
    assert sorted(file.name for file in robota.workspace.iterdir() if len(file.name) == 1) == ["a"]


def test_a_mistyped_rule_of_the_user_stops_the_start(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    path = robota.home / ".robota/settings.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "permissions": {"deny": ["Bash(rm"]}}))
    done = robota("-p", "x")
    assert done.code == 3 and "Bash(rm" in done.stderr and "Nothing was started" in done.stderr
    path.write_text(json.dumps({**settings, "permissions": {"deny": ["NoSuchTool"]}}))
    done = robota("-p", "x")
    assert done.code == 0 and "NoSuchTool" in done.stderr

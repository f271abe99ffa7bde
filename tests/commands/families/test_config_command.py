"""`robota config`: what is set, who set it, and changing it without losing anything."""

import json
from pathlib import Path

import pytest

from tests.cli.scripts import write_settings
from tests.harness.cli import Robota


def project(robota: Robota, text: str) -> Path:
    path = robota.workspace / ".robota/settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_show_says_which_file_set_what(robota: Robota) -> None:
    mine = write_settings(robota, {"language": "de", "permissions": {"deny": ["WebFetch"]}})
    theirs = project(robota, '{"permissions": {"deny": ["Bash(curl *)"]}}')
    done = robota("config", "show", "--origin", env={"ROBOTA_MODEL": "m"})
    assert done.code == 0
    lines = done.stdout.splitlines()
    assert any("language" in line and '"de"' in line and f"user: {mine}" in line for line in lines)
    assert any("Bash(curl *)" in line and f"project: {theirs}" in line for line in lines)
    assert any("environment: ROBOTA_MODEL" in line for line in lines)
    assert any("completion" in line and "built-in" in line for line in lines)
    entries = json.loads(robota("config", "show", "--origin", "--json").stdout)
    rules = [(entry["layer"], entry["value"]) for entry in entries if entry["key"] == "permissions.deny"]
    assert rules == [("user", ["WebFetch"]), ("project", ["Bash(curl *)"])]


def test_secrets_are_not_shown(robota: Robota) -> None:
    profile = {"type": "scripted", "apiKey": "sk-1", "options": {"headers": {"authorization": "Bearer sk-2"}}}
    write_settings(robota, {"providers": {"a": profile}})
    for arguments in (["show"], ["show", "--json"], ["show", "--origin", "--json"], ["get", "providers.a"]):
        done = robota("config", *arguments)
        assert "scripted" in done.stdout and "sk-" not in done.stdout + done.stderr
    assert robota("config", "get", "providers.a.apiKey").stdout == "***\n"


def test_get(robota: Robota) -> None:
    write_settings(robota, {"language": "de", "models": {"gpt-4.1": {"contextWindow": 5}}})
    assert robota("config", "get", "language").stdout == "de\n"
    assert robota("config", "get", 'models."gpt-4.1".contextWindow').stdout == "5\n"
    assert json.loads(robota("config", "get", "permissions").stdout) == {"defaultMode": "default"}
    gone = robota("config", "get", "model")
    assert gone.code == 1 and gone.stdout == ""
    assert robota("config", "get", "a..b").code == 3


def test_set_keeps_order_and_unknown_keys_and_the_old_file(robota: Robota) -> None:
    path = write_settings(robota, {"z": 1, "language": "de", "env": {"A": "1"}})
    before = path.read_text()
    assert robota("config", "set", "language", "fr").code == 0
    assert json.loads(path.read_text()) == {"z": 1, "language": "fr", "env": {"A": "1"}}
    assert list(json.loads(path.read_text())) == ["z", "language", "env"]
    assert (path.parent / "settings.json.bak").read_text() == before
    assert path.stat().st_mode & 0o777 == 0o600
    assert robota("config", "set", "env.B", "2").code == 0
    assert robota("config", "set", "permissions.deny", '["Bash(rm *)"]').code == 0
    assert robota("config", "set", "permissions.deny", "Bash(dd *)", "--add").code == 0
    assert robota("config", "set", "updateCheck.enabled", "false").code == 0
    assert robota("config", "set", "sandbox.network", "true").code == 0
    settings = json.loads(path.read_text())
    assert settings["env"] == {"A": "1", "B": "2"} and settings["permissions"]["deny"] == ["Bash(rm *)", "Bash(dd *)"]
    assert settings["updateCheck"] == {"enabled": False} and settings["sandbox"] == {"network": True}
    assert robota("config", "unset", "updateCheck.enabled").code == 0
    assert "updateCheck" not in json.loads(path.read_text())


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("language", "7 &", "a language is required"),
        ("completion", "maybe", "explicit, implicit"),
        ("permissions.defaultMode", "yolo", "acceptEdits, bypassPermissions, confined, default, plan"),
        ("permissions.deny", "Bash", "a list"),
        ("langage", "de", "did you mean language?"),
        ("providers.x.timeout", "soon", "a number"),
        (
            "permissons.deny",
            '["Bash(rm *)"]',
            "permissons: there is no such setting, so it has no effect; did you mean",
        ),
        ("permissions.denny", '["Bash(rm *)"]', "did you mean deny?"),
        ("permissions.deny", '["Bash(rm"]', "Bash(rm"),
        ("permissions.deny", '["Shell(rm *)"]', "Shell"),
        ("permissions.deny.first", "Bash", "permissions.deny"),
        ("model.name", "x", "a string is required"),
        ("sandbox.netwrok", "true", "did you mean network?"),
        ("sandbox.enabled", "maybe", "true or false"),
        ("updateCheck.enable", "false", "did you mean enabled?"),
        ("providers.x.modle", "m", "did you mean model?"),
        ("providers.new.modle", "m", "did you mean model?"),
        ("providers.x.type", "opneai", "There is no provider type"),
        ("models.m.contextWindw", "9000", "contextWindow"),
        ("models.m.price", '{"in": 1}', "price"),
        ("hooks.PreTooluse", "[]", "there is no such event"),
        ("hooks.Stop", '[{"hooks": [{"type": "shell"}]}]', "not supported"),
        ("mcpServers.docs", '{"url": "https://example.com"}', 'needs "type"'),
        ("mcpServers.docs.comand", "x", "there is no such setting"),
        ("env.LD_PRELOAD", "x.so", "variables that load code"),
    ],
)
def test_a_wrong_value_is_refused_before_it_is_written(robota: Robota, key: str, value: str, shown: str) -> None:
    """So is a name that is no setting."""
    path = write_settings(robota, {"providers": {"x": {"type": "scripted"}}})
    before = path.read_text()
    done = robota("config", "set", key, value)
    assert done.code == 3 and shown in done.stderr and "Nothing was written" in done.stderr
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("providers.new.model", "m"),
        ("providers.x.options.toolFormat", "xml"),
        ("models.m.contextWindow", "9000"),
        ("mcpServers.docs.command", "docs-server"),
        ("hooks.Stop", '[{"hooks": [{"type": "command", "command": "true"}]}]'),
        ("permissions.allow", '["mcp__docs"]'),
    ],
)
def test_a_setting_can_be_built_up_piece_by_piece(robota: Robota, key: str, value: str) -> None:
    write_settings(robota, {"providers": {"x": {"type": "scripted"}}})
    done = robota("config", "set", key, value)
    assert done.code == 0, done.stderr


def test_unsetting_what_is_not_set_says_so(robota: Robota) -> None:
    """A misspelt name must not look like success."""
    write_settings(robota, {"permissions": {"deny": ["Bash(rm *)"]}})
    done = robota("config", "unset", "permissons.deny")
    assert done.code == 1 and "is not set" in done.stderr and "Did you mean permissions?" in done.stderr


def test_a_repository_cannot_be_given_what_it_cannot_set(robota: Robota) -> None:
    for key in ("currentProvider", "providers.x.baseURL", "permissions.defaultMode", "sandbox.enabled"):
        done = robota("config", "set", key, "x", "--scope", "project")
        assert done.code == 3 and "--scope user" in done.stderr
    assert not (robota.workspace / ".robota").exists()


def test_what_the_user_writes_into_a_workspace_they_trust(robota: Robota) -> None:
    assert robota("config", "set", "language", "fr", "--scope", "project").code == 0
    assert robota("config", "set", "permissions.allow", "Bash(ls)", "--add", "--scope", "local").code == 0
    assert (robota.workspace / ".robota/.gitignore").read_text() == "*\n"
    shown = json.loads(robota("config", "show", "--json").stdout)
    assert shown["language"] == "fr" and shown["permissions"]["allow"] == ["Bash(ls)"]


def test_a_change_to_an_untrusted_workspace_does_not_trust_it(robota: Robota) -> None:
    project(robota, '{"env": {"A": "1"}}')
    assert robota("config", "set", "language", "fr", "--scope", "local").code == 0
    done = robota("config", "show", "--json")
    assert "env" not in json.loads(done.stdout) and "not trusted" in done.stderr


def test_a_higher_layer_that_wins_is_named(robota: Robota) -> None:
    done = robota("config", "set", "model", "mine", env={"ROBOTA_MODEL": "other"})
    assert done.code == 0 and "ROBOTA_MODEL" in done.stderr and "overrides" in done.stderr


def test_a_link_is_not_written_through(robota: Robota) -> None:
    (robota.home / "victim.json").write_text("{}")
    (robota.workspace / ".robota").mkdir()
    (robota.workspace / ".robota/settings.json").symlink_to(robota.home / "victim.json")
    done = robota("config", "set", "language", "fr", "--scope", "project")
    assert done.code == 3 and (robota.home / "victim.json").read_text() == "{}"


def test_path_and_schema(robota: Robota) -> None:
    places = robota("config", "path").stdout
    assert str(robota.home / ".robota/settings.json") in places and "/etc/robota/managed-settings.json" in places
    schema = json.loads(robota("config", "schema").stdout)
    assert schema["properties"]["permissions"] and schema["$schema"].startswith("https://json-schema.org/")

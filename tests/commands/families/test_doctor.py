"""`robota doctor` looks at the real machine and says what is wrong."""

import json
import os
from typing import Any

import pytest

from tests.cli.scripts import script, write_settings
from tests.fakellm.server import running
from tests.harness.cli import Robota


def compatible(url: str, key: str) -> dict[str, Any]:
    return {"type": "openai-compatible", "baseURL": url, "model": "fake-model", "apiKey": key}


def checks(robota: Robota, **env: str) -> dict[str, dict[str, Any]]:
    """The worst check of each name."""
    done = robota("doctor", "--json", env=env)
    report = json.loads(done.stdout)
    assert report["ok"] is (done.code == 0)
    order = ["good", "note", "bad"]
    found: dict[str, dict[str, Any]] = {}
    for check in report["checks"]:
        before = found.get(check["name"])
        if before is None or order.index(check["health"]) > order.index(before["health"]):
            found[check["name"]] = check
    return found


def test_a_machine_that_is_well(robota: Robota) -> None:
    with running() as server:
        write_settings(robota, {"providers": {"a": compatible(f"{server.url}/v1", "$ENV:K")}})
        robota("doctor", "--fix", env={"K": "sk-7"})
        found = checks(robota, K="sk-7")
    assert " ".join(found) == "robota python terminal git ripgrep sandbox home settings trust provider disk"
    assert "offers fake-model" in found["provider"]["text"]
    assert "git version" in found["git"]["text"]
    assert found["sandbox"]["text"].startswith(("bubblewrap (/", "Landlock, because", "none, because"))
    assert found["settings"]["health"] == "good" and found["trust"]["text"].endswith("nothing to trust")


def test_text_for_a_user(robota: Robota) -> None:
    done = robota("doctor")
    assert done.code == 1 and "BAD" in done.stdout and "robota --configure" in done.stdout


@pytest.mark.parametrize(
    ("profile", "shown"),
    [
        (compatible("http://127.0.0.1:9/v1", "sk-7"), "127.0.0.1:9"),
        (compatible("http://127.0.0.1:9/v1", "$ENV:NONE"), "NONE"),
        ({"type": "telepathy"}, "telepathy"),
    ],
)
def test_a_provider_that_does_not_work(robota: Robota, profile: dict[str, Any], shown: str) -> None:
    write_settings(robota, {"providers": {"a": profile}})
    provider = checks(robota)["provider"]
    assert provider["health"] == "bad" and shown in provider["text"]
    assert "sk-7" not in provider["text"]


def test_wrong_settings_and_an_untrusted_workspace(robota: Robota) -> None:
    write_settings(robota, {"permissions": {"deny": "Bash"}, "languge": "de"})
    (robota.workspace / ".mcp.json").write_text("{}")
    found = checks(robota)
    assert found["settings"]["health"] == "bad" and "permissions.deny" in found["settings"]["text"]
    assert found["trust"]["health"] == "note" and "robota trust" in found["trust"]["advice"]


def test_programs_that_are_missing_or_planted(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    planted = robota.workspace / "git"
    planted.write_text("#!/bin/sh\ntouch ran\n")
    planted.chmod(0o755)
    found = checks(robota, PATH=".")
    assert found["git"]["health"] == "bad" and found["git"]["text"] == "not found"
    assert not (robota.workspace / "ran").exists()
    assert found["sandbox"]["health"] == "note"
    assert "git version" in checks(robota, PATH=f".{os.pathsep}{os.environ['PATH']}")["git"]["text"]


def test_a_model_that_the_server_does_not_list_is_noted_with_what_it_offers(robota: Robota) -> None:
    with running() as server:
        profile = {**compatible(f"{server.url}/v1", "none"), "model": "fake-modle"}
        write_settings(robota, {"providers": {"a": profile}})
        provider = checks(robota)["provider"]
    assert provider["health"] == "note" and "fake-modle is not in its list" in provider["text"]
    assert "fake-model" in provider["advice"] and "robota --configure" in provider["advice"]


def test_fields_of_skills_that_have_no_effect_are_named(robota: Robota) -> None:
    script(robota, {"text": "Done."})
    commands = robota.home / ".robota/commands"
    commands.mkdir(parents=True)
    (commands / "fine.md").write_text("---\ndescription: fine\n---\nDo it.")
    assert "skills" not in checks(robota)
    (commands / "odd.md").write_text("---\ndescription: odd\nfavourite-colour: blue\n---\nDo it.")
    assert "the field favourite-colour has no effect" in checks(robota)["skills"]["text"]
    (commands / "odd.md").write_text("---\ndescription: odd\neffort: high\nhooks: {}\nmax-turns: 3\n---\nDo it.")
    said = checks(robota)["skills"]["text"]
    assert "the field effort has no effect; the field hooks has no effect" in said
    assert "the field max-turns applies only with context: fork" in said
    for number in range(10):
        (commands / f"more{number}.md").write_text("---\nshade: red\n---\nDo it.")
    assert "6 more have fields without effect" in robota("doctor").stdout


def test_what_others_could_read_is_closed_with_fix_and_only_then(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    assert robota("-p", "go").code == 0
    settings = robota.home / ".robota/settings.json"
    log = next((robota.workspace / ".robota/sessions").glob("*/log.jsonl"))
    ignore = robota.workspace / ".robota/.gitignore"
    settings.chmod(0o644)
    log.chmod(0o644)
    ignore.unlink()
    assert robota("doctor").stdout.count("To repair it: robota doctor --fix") == 4
    assert settings.stat().st_mode & 0o777 == 0o644 and not ignore.exists()
    fixed = robota("doctor", "--fix")
    assert {path.stat().st_mode & 0o777 for path in (settings, log)} == {0o600}
    assert ignore.read_text() == "*\n"
    assert fixed.stdout.count("fixed") == 4, fixed.stdout
    again = robota("doctor", "--fix").stdout
    assert "fixed" not in again and "To repair it" not in again


def test_the_only_profile_becomes_the_current_one_with_fix(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    path = robota.home / ".robota/settings.json"
    path.write_text(path.read_text().replace('"currentProvider": "script"', '"currentProvider": "gone"'))
    assert robota("-p", "go").code == 3
    robota("doctor", "--fix")
    assert robota("-p", "go").code == 0


def test_fields_of_agents_without_effect_are_named(robota: Robota) -> None:
    script(robota, {"text": "Done."})
    assert "agents" not in checks(robota)
    agents = robota.home / ".claude/agents"
    agents.mkdir(parents=True)
    (agents / "reviewer.md").write_text("---\nname: reviewer\ncolor: red\n---\nReview.")
    text = checks(robota)["agents"]["text"]
    assert "reviewer.md" in text and "color has no effect" in text


def test_it_lists_what_commands_see_of_the_home_and_why(robota: Robota) -> None:
    (robota.home / ".cargo/bin").mkdir(parents=True)
    (robota.home / ".config/gh").mkdir(parents=True)
    write_settings(robota, {"sandbox": {"readable": ["~/.config"]}})
    done = robota("doctor")
    assert f"{robota.home}/.cargo/bin (toolchain of cargo)" in done.stdout
    assert "sandbox.readable: ~/.config is refused: it contains" in done.stdout


def test_links_that_are_not_followed_and_ignore_files_of_roo_are_named(robota: Robota) -> None:
    script(robota, {"text": "Done."})
    assert not {"links", "ignore files"} & checks(robota).keys()
    (robota.workspace / ".claude").mkdir()
    (robota.workspace / ".claude/skills").symlink_to(robota.home)
    (robota.workspace / ".rooignore").write_text("private/\n")
    said = checks(robota)
    assert ".claude/skills" in said["links"]["text"] and ".robotaignore" in said["ignore files"]["advice"]

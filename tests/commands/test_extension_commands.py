"""`/mcp`, `/hooks`, `/skills`, `/trust` and `/permissions rules` show the extensions of a session."""

import json
from pathlib import Path

from tests.cli.scripts import script, write_settings
from tests.extensions.mcp.setup import DONE, PlainServer, configure
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal


def with_settings(robota: Robota, **more: object) -> None:
    """Write user settings with the scripted model and these values."""
    script(robota, DONE)
    path = robota.home / ".robota/settings.json"
    write_settings(robota, {**json.loads(path.read_text()), **more})


def test_servers_are_shown_with_their_tools_once_they_run(robota: Robota, tmp_path: Path) -> None:
    configure(robota, {"plain": PlainServer(tmp_path).entry()}, [DONE])
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/mcp")
        terminal.wait_for("plain   starts with the first task  -")
        terminal.answer("> ", "go")
        terminal.wait_for("done")
        terminal.answer("> ", "/mcp")
        terminal.wait_for("plain   connected  note")
    assert "No MCP server" not in robota("-p", "/mcp").stdout


def test_missing_extensions_are_reported(robota: Robota) -> None:
    script(robota, DONE)
    with Terminal(robota) as terminal:
        for typed, said in (
            ("/mcp", "No MCP server is configured here."),
            ("/hooks", "There are no hooks here."),
            ("/skills", "There are no skills here."),
            ("/trust", "nothing to trust."),
            ("/permissions rules", "There are no rules."),
        ):
            terminal.answer("> ", typed)
            terminal.wait_for(said)


def test_hooks_and_rules_of_the_settings_are_listed(robota: Robota) -> None:
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true --hook"}]}
    with_settings(
        robota, hooks={"PreToolUse": [hook]}, permissions={"deny": ["Read(secret/**)"], "allow": ["Bash(ls)"]}
    )
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/hooks")
        terminal.wait_for("PreToolUse  Bash  settings  command  true --hook")
        terminal.answer("> ", "/permissions rules")
        terminal.wait_for("deny   Read(secret/**)")
        terminal.wait_for("allow  Bash(ls)")
    assert "true --hook" in robota("-p", "/hooks").stdout
    assert "Read(secret/**)" in robota("-p", "/permissions rules").stdout


def test_user_skills_are_listed(robota: Robota) -> None:
    script(robota, DONE)
    skill = robota.home / ".robota/skills/paint/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: paint\ndescription: Paints a fence.\n---\nPaint it.\n")
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/skills")
        terminal.wait_for("/paint")
        terminal.wait_for("Paints a fence.")
    assert "/paint" in robota("-p", "/skills").stdout


def test_trust_shows_the_configuration_of_an_untrusted_workspace(robota: Robota) -> None:
    script(robota, DONE)
    (robota.workspace / ".mcp.json").write_text('{"mcpServers": {}}')
    shown = robota("-p", "/trust").stdout
    assert "not trusted. It contains: .mcp.json." in shown and "robota trust" in shown
    with Terminal(robota) as terminal:
        terminal.answer("Do you trust it?", "y")
        terminal.answer("> ", "/trust")
        terminal.wait_for(": trusted. It contains: .mcp.json.")

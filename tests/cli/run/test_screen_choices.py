"""Lists that lead to lists, at the real program: plugins, providers, models, permissions; Esc goes back a step."""

import json

from tests.cli.scripts import script, write_settings
from tests.fakellm.server import running
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal


def test_the_lists_of_plugins_open_further_lists_and_escape_goes_back(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("/plugin\r")
        terminal.sees("No plugin is installed.")
        terminal.press("\r")
        terminal.sees("No marketplace is configured.")
        terminal.press("\x1b")
        terminal.sees("❯ marketplaces")
        terminal.press("inst\r")
        terminal.sees("> /plugin install")
        terminal.press("./nowhere\r")
        terminal.sees("! ")


def test_what_a_plugin_brings_can_be_read_before_it_is_agreed_to(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    skills = robota.workspace / "tools" / "skills" / "greet"
    skills.mkdir(parents=True)
    (skills / "SKILL.md").write_text("---\nname: greet\ndescription: Greets\n---\nGreet.\n")
    (robota.workspace / "tools" / ".claude-plugin").mkdir()
    manifest = json.dumps({"name": "tools", "version": "1.0.0"})
    (robota.workspace / "tools" / ".claude-plugin" / "plugin.json").write_text(manifest)
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("/plugin install ./tools\r")
        rows = terminal.sees("y Agree and install it")
        assert any("greet" in row for row in rows) and not any("U+000A" in row for row in rows)
        terminal.press("y")
        terminal.sees("tools@local is installed")
        terminal.press("/plugin\r")
        terminal.sees("❯ tools@local")
        terminal.press("\r")
        terminal.sees("❯ show")
        terminal.press("disable\r")
        terminal.sees("is disabled")


def test_a_provider_is_set_up_between_and_the_session_continues_unchanged_without_an_answer(robota: Robota) -> None:
    script(robota, {"text": "First."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("go\r")
        terminal.sees("First.")
        terminal.press("/provider\r")
        terminal.sees("❯ script")
        terminal.press("add\r")
        terminal.sees("Which provider do you want to use?")
        terminal.sees("Up/Down or a number")
        terminal.press("\x03")
        terminal.sees("Nothing was written.")
        terminal.sees("Idle")
        terminal.press("on\r")
        terminal.sees("> on")
        assert terminal.scrolled.count("> go") == 1, "what was said stands there already"
        terminal.press("\x0f")
        assert "> go" in terminal.sees("q close")


def test_models_of_the_provider_are_listed_with_their_windows(robota: Robota) -> None:
    unreachable = "http://127.0.0.1:9"  # the list falls back to the catalogue
    profile = {"type": "anthropic", "model": "claude-sonnet-4-5", "apiKey": "none", "baseURL": unreachable}
    write_settings(robota, {"currentProvider": "a", "providers": {"a": profile}})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("/model\r")
        rows = terminal.sees("Enter select")
        assert any("claude-opus" in row and " tokens, $" in row for row in rows), rows
        terminal.press("set up\r")
        terminal.sees("The provider is a")
        terminal.press("\x1b")
        terminal.sees("The model is")


def test_permissions_show_modes_and_rules(robota: Robota) -> None:
    """Without a sandbox, so that the mode confined, which not every machine has, is not in the cycle."""
    script(robota, {"text": "Never said."})
    with ScreenTerminal(robota, "--settings", '{"sandbox": {"enabled": false}}') as terminal:
        terminal.sees("Idle")
        terminal.press("/permissions\r")
        terminal.sees("The permission mode is default.")
        terminal.press("accept\r")
        terminal.sees("permission mode: acceptEdits")
        terminal.sees("Mode: acceptEdits")
        terminal.press("\x1b[Z")
        terminal.sees("Mode: plan")
        terminal.press("\x1b[Z")
        terminal.sees("n no, return to default mode")
        terminal.press("n")
        terminal.sees("Mode: default")


def test_a_provider_that_was_set_up_answers_from_then_on(robota: Robota) -> None:
    script(robota, {"text": "First."})
    with running() as server, ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("/provider add openai-compatible\r")
        for question, said in (("Address of the API", f"{server.url}/v1"), ("API key", ""), ("Number or name", "1")):
            terminal.sees(question)
            terminal.press(f"{said}\r")
        terminal.sees("Name of this profile")
        terminal.press("\r")
        terminal.sees("git: main | fake-model")
        terminal.press("/provider test\r")
        terminal.sees("openai-compatible: ")


def test_a_repository_with_a_package_of_our_name_is_not_run_when_its_trust_is_decided(robota: Robota) -> None:
    """Python imports first from the directory it is started in, which is an untrusted repository."""
    script(robota, {"text": "Never said."})
    (robota.workspace / "CLAUDE.md").write_text("Be brief.\n")
    (robota.workspace / ".claude").mkdir()
    (robota.workspace / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Bash(ls)"]}}')
    planted = robota.workspace / "robota"
    planted.mkdir()
    (planted / "__init__.py").write_text("")
    (planted / "__main__.py").write_text("open('sprung', 'w'); print('You saw nothing.')\n")
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Do you trust it?")
        terminal.press("n\r")
        terminal.sees("Idle")
        terminal.press("/trust decide\r")
        terminal.sees("by your decision")
    assert not (robota.workspace / "sprung").exists()


def test_resume_without_an_id_shows_a_list_with_a_preview(robota: Robota) -> None:
    for answer, prompt in (("Fence painted.", "paint the fence"), ("Roof mended.", "mend the roof")):
        script(robota, {"text": answer})
        assert robota("-p", prompt).code == 0
    with ScreenTerminal(robota, "--resume") as terminal:
        terminal.sees("2 of 2")
        terminal.sees("Roof mended.")
        terminal.press("fence")
        terminal.sees("1 of 2")
        terminal.sees("Fence painted.")
        terminal.press("\r")
        rows = terminal.sees("Idle")
        assert "> paint the fence" in rows and "Fence painted." in rows
    with ScreenTerminal(robota, "--resume") as terminal:
        terminal.sees("2 of 2")
        terminal.press("\x1b")
        assert terminal.end() != 0
    assert "Nothing was started." in terminal.screen

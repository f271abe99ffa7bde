"""`/plugin` in a terminal and in print mode."""

import re
from pathlib import Path

from tests.cli.scripts import script
from tests.extensions.mcp.setup import PlainServer
from tests.extensions.plugins.sample import plugin
from tests.harness.cli import Robota
from tests.harness.conversation import typed
from tests.harness.terminal import Terminal

DONE = {"text": "done"}


def test_a_plugin_is_reviewed_installed_and_used_in_one_conversation(robota: Robota, tmp_path: Path) -> None:
    source = plugin(tmp_path / "source")
    script(robota, {"expect": {"user": "Say hello to Ann."}, "text": "Hello Ann."})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/plugin list")
        terminal.wait_for("No plugin is installed.")
        terminal.answer("> ", f"/plugin install {source}")
        shown = terminal.wait_for("press Enter to cancel.")
        assert "scripts/check.sh" in shown and "/lint:greet" in shown
        terminal.answer("> ", "1")
        terminal.wait_for("lint@local is installed for all your projects.")
        terminal.answer("> ", "/plugin reload")
        terminal.answer("> ", "/plugin")
        terminal.wait_for("1 lint@local  user, enabled")
        terminal.answer("> ", "1")
        terminal.wait_for("2 disable")
        terminal.answer("> ", "")
        terminal.answer("> ", "/lint:greet Ann")
        terminal.wait_for("Hello Ann.")


def test_showing_a_plugin_installs_nothing(robota: Robota, tmp_path: Path) -> None:
    source = plugin(tmp_path / "source")
    script(robota, DONE)
    with Terminal(robota) as terminal:
        terminal.answer("> ", f"/plugin install {source}")
        terminal.wait_for("press Enter to cancel.")
        terminal.answer("> ", "")
        terminal.answer("> ", "/plugin list")
        terminal.wait_for("No plugin is installed.")


def test_a_choice_names_the_line_that_agrees(robota: Robota, tmp_path: Path) -> None:
    source = plugin(tmp_path / "source")
    shown = typed(robota, f"/plugin install {source}").stdout
    line = re.search(r"^/plugin install .* --agree \w+", shown, re.MULTILINE)
    assert line is not None and "PostToolUse" in shown
    assert "is installed" in typed(robota, line[0]).stdout
    for order, said in (
        ("list", "lint@local"),
        ("show lint", "/lint:mend"),
        ("disable lint", "is disabled"),
        ("enable lint", "is enabled"),
        ("update", "is up to date"),
        ("marketplace", "No marketplace is configured"),
        ("uninstall lint", "Removed lint"),
    ):
        assert said in typed(robota, f"/plugin {order}").stdout


def test_invalid_plugin_requests_change_nothing(robota: Robota) -> None:
    for order in ("fly", "install a b", "show", "install x --scope moon", "list --json", "install 'x"):
        done = robota("-p", f"/plugin {order}")
        assert done.code == 2 and "Nothing was changed" in done.stderr
    assert "uninstall | marketplace | reload" in robota("-p", "/plugin fly").stderr, "what there is"
    missing = robota("-p", "/plugin show nothing")
    assert missing.code != 0 and "No plugin nothing is installed" in missing.stderr


def test_servers_and_hooks_of_a_plugin_are_listed_with_its_name(robota: Robota, tmp_path: Path) -> None:
    server = PlainServer(tmp_path)
    entry = {**server.entry(), "env": {"PLACE": "${ROBOTA_PLUGIN_ROOT}"}}
    source = plugin(tmp_path / "source", **{".mcp.json": {"mcpServers": {"notes": entry}}})
    assert robota("plugin", "install", str(source), "--yes").code == 0
    note = {"name": "mcp__plugin_lint_notes__note", "arguments": {"text": "x"}}
    script(robota, {"calls": [note]}, DONE)
    done = robota("-p", "go", "--allowed-tools", "mcp__plugin_lint_notes__note")
    assert done.code == 0 and server.was_called
    assert "plugin_lint_notes" in robota("mcp", "list").stdout
    assert re.search(r"PostToolUse +Write\|Edit +lint +command", robota("-p", "/hooks").stdout)

"""A conversation that is taken up looks as it looked: each call with its title, what it changed, and how it ended."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.extensions.mcp.setup import PlainServer
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal

LONG = "x" * 300
DURATION = re.compile(r"  \d+\.\d s$")
PATCH = "*** Begin Patch\n*** Add File: one.txt\n+1\n*** Update File: calc.py\n@@\n-# end\n+# The end\n*** End Patch"
CALLS = [
    call("read_file", path="calc.py"),
    call("read_file", path="missing.py"),
    call("edit_file", path="calc.py", old_string="a - b", new_string="a + b"),
    call("apply_patch", patch=PATCH),
    call("update_todo_list", todos="[x] look\n[-] mend it"),
    call("mcp__plain__note", text="hello"),
    call("execute_command", command="sh fail.sh"),
    call("execute_command", command="rm calc.py"),
    call("no_such_tool", path="x"),
]
ASKED = call("execute_command", command="touch made")


@pytest.fixture
def worked(robota: Robota, tmp_path: Path) -> Robota:
    """Calls of every kind: allowed, failing, denied by a rule, denied by the user."""
    (robota.workspace / "calc.py").write_text("def add(a, b):\n    return a - b\n# end\n")
    (robota.workspace / "fail.sh").write_text(f"for i in 1 2 3 4 5 6; do echo line $i; done; echo {LONG}; exit 3\n")
    turns: list[dict[str, Any]] = [
        {"text": "I **begin**.", "calls": CALLS[:1]},
        *({"calls": [each]} for each in CALLS[1:]),
    ]
    script(robota, *turns, {"text": "One more.", "calls": [ASKED]}, {"text": "All done."}, {"text": "Here I go on."})
    settings = robota.home / ".robota" / "settings.json"
    rules = {"allow": ["Bash(sh fail.sh)", "mcp__plain__note"], "deny": ["Bash(rm *)"]}
    more = {"permissions": rules, "mcpServers": {"plain": PlainServer(tmp_path).entry()}}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **more}))
    return robota


def between(rows: list[str], first: str, last: str) -> list[str]:
    return rows[rows.index(first) : rows.index(last) + 1]


def test_in_the_terminal_ui(worked: Robota) -> None:
    with ScreenTerminal(worked, "--permission-mode", "acceptEdits", rows=60) as terminal:
        terminal.sees("Idle")
        terminal.press("do it\r")
        terminal.sees("y yes")
        terminal.press("n")
        terminal.sees("All done.")
        live = between(terminal.scrolled, "> do it", "All done.")
        terminal.press("\x04")
        assert terminal.end() == 0
    # On a slow machine a call takes long enough for its duration to be shown.
    assert [DURATION.sub("", row) for row in live if row.startswith("■ ")] == [
        "■ Read calc.py",
        "■ Read missing.py",
        "■ Edit calc.py",
        "■ Patch one.txt, calc.py",
        "■ Todo list",
        "■ MCP plain: note hello",
        "■ Bash sh fail.sh",
        "■ Bash rm calc.py  denied",
        "■ no_such_tool x",
        "■ Bash touch made  denied",
    ]
    assert {"    exit code 3", "    2 +     return a + b", "    ... +3 lines (Ctrl+O shows all)"} <= set(live)
    with ScreenTerminal(worked, "-c", rows=60) as terminal:
        terminal.sees("Idle")
        assert between(terminal.scrolled, "> do it", "All done.") == live
        terminal.press("\x0f")
        terminal.sees("line 1")


def test_in_the_plain_conversation(worked: Robota) -> None:
    with ScreenTerminal(worked, "--plain", "--permission-mode", "acceptEdits", rows=80) as terminal:
        terminal.sees("or type /help")
        terminal.press("do it\r")
        terminal.sees("touch made")
        terminal.press("n\r")
        terminal.sees("All done.")
        live = between(terminal.scrolled, "I **begin**.", "● Bash touch made")
        assert terminal.scrolled[terminal.scrolled.index("> n") + 1] == "    denied: The user rejected it."
        terminal.press("\x04")
        terminal.end()
    assert {"    exit code 3", "    [-] mend it", "    +     return a + b", "    | line 1"} <= set(live)
    with ScreenTerminal(worked, "--plain", "-c", rows=80) as terminal:
        terminal.sees("All done.")
        shown = between(terminal.scrolled, "I **begin**.", "All done.")
        assert shown[: len(live)] == live
        assert shown[len(live)] == "    denied: The user rejected it."
        terminal.press("/history\r")
        terminal.sees("* Bash sh fail.sh")

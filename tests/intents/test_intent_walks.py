"""Selecting an intent, being refused, and changing its status, each at a terminal and in print mode."""

import json

from tests.cli.scripts import call, script, trust
from tests.harness.cli import Finished, Robota
from tests.harness.terminal import Terminal
from tests.intents.project import INTENTS, SELECT, intents, traced, write

EDITS = ("--permission-mode", "acceptEdits")


def headless(robota: Robota, *turns: dict[str, object]) -> Finished:
    intents(robota.workspace)
    script(robota, *turns, {"text": "All done."})
    return robota("-p", "go", *EDITS, "--output-format", "json")


def test_handshake_in_a_conversation(robota: Robota) -> None:
    intents(robota.workspace)
    script(robota, {"calls": [SELECT]}, {"calls": [write("src/auth/a.py")]}, {"text": "All done."})
    with Terminal(robota, *EDITS, "go") as terminal:
        terminal.wait_for("Context injected by hook: INT-001.")
        terminal.wait_for("All done.")
    assert traced(robota.workspace)[0]["files"][0]["path"] == "src/auth/a.py"


def test_handshake_headless(robota: Robota) -> None:
    done = headless(robota, {"calls": [SELECT]}, {"calls": [write("src/auth/a.py")]})
    assert json.loads(done.stdout)["permission_denials"] == [] and len(traced(robota.workspace)) == 1


def test_refusal_in_a_conversation(robota: Robota) -> None:
    intents(robota.workspace)
    script(robota, {"calls": [SELECT]}, {"calls": [write("outside.ts")]}, {"text": "All done."})
    with Terminal(robota, *EDITS, "go") as terminal:
        asked = terminal.wait_for("> ")
        asked += terminal.wait_for("it owns src/auth/**") if "it owns" not in asked else ""
        assert "INT-001 (Sign in with a token) is not authorized to edit outside.ts" in " ".join(asked.split())
        terminal.press("n\n")
        terminal.wait_for("All done.")
    assert not (robota.workspace / "outside.ts").exists() and traced(robota.workspace) == []


def test_refusal_headless_is_listed(robota: Robota) -> None:
    done = headless(robota, {"calls": [SELECT]}, {"calls": [write("outside.ts")]})
    [denied] = json.loads(done.stdout)["permission_denials"]
    assert denied["tool_name"] == "Write" and not (robota.workspace / "outside.ts").exists()


def test_a_user_reads_a_refusal_in_words(robota: Robota) -> None:
    intents(robota.workspace)
    (robota.workspace / "src/auth").mkdir(parents=True)
    (robota.workspace / "src/auth/unread.py").write_text("kept")
    other = call("select_active_intent", intent_id="INT-009")
    calls = (write("src/auth/a.py"), other, SELECT, write("src/auth/unread.py"))
    script(robota, *({"calls": [each]} for each in calls), {"text": "All done."})
    with Terminal(robota, *EDITS, "go") as terminal:
        shown = " ".join(terminal.wait_for("All done.").split())
    assert "No intent is selected. Call select_active_intent" in shown
    assert "There is no intent INT-009." in shown and "has not been read in this session" in shown
    assert "{" not in shown


def test_a_refusal_of_scope_advises_no_rule_and_no_mode(robota: Robota) -> None:
    """None would help: a user has to say yes, or to widen the scope."""
    intents(robota.workspace)
    script(robota, {"calls": [SELECT]}, {"calls": [write("outside.ts")]}, {"text": "All done."})
    robota("-p", "go")
    log = next((robota.workspace / ".robota" / "sessions").glob("*/log.jsonl"))
    verdicts = [json.loads(line)["payload"] for line in log.read_text().splitlines() if '"verdict"' in line]
    [reason] = [verdict["reason"] for verdict in verdicts if verdict["decision"] == "deny"]
    assert "is not authorized to edit outside.ts" in reason and reason.endswith("Run it in an interactive session.")
    assert "--" not in reason


def test_states_headless(robota: Robota) -> None:
    """No intent, active, still active, and none again when its status is set back, which a command shows."""
    late = {"calls": [write("src/auth/late.py")]}
    headless(robota, {"calls": [write("src/auth/early.py")]}, {"calls": [SELECT]}, {"calls": [write("src/auth/a.py")]})
    assert [record["files"][0]["path"] for record in traced(robota.workspace)] == ["src/auth/a.py"]
    intents(robota.workspace, INTENTS.replace("IN_PROGRESS", "COMPLETED", 1))
    script(robota, {"calls": [SELECT]}, late, {"text": "All done."})
    robota("-p", "go", *EDITS)
    assert not (robota.workspace / "src/auth/late.py").exists()


def test_set_back_in_the_middle_of_a_headless_run(robota: Robota) -> None:
    """Somebody else sets the intent back between two calls: here a hook of the user, after the first change."""
    directory = intents(robota.workspace)
    writes = [{"calls": [write(f"src/auth/{name}.py")]} for name in "ab"]
    script(robota, {"calls": [SELECT]}, *writes, {"text": "All done."})
    settings = robota.home / ".robota" / "settings.json"
    back = f"sed -i '0,/IN_PROGRESS/s//BLOCKED/' {directory / 'active_intents.yaml'}"
    hook = {"matcher": "write_to_file", "hooks": [{"type": "command", "command": back}]}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"hooks": {"PostToolUse": [hook]}}))
    trust(robota)  # the hook names a file of the workspace
    done = robota("-p", "go", *EDITS, "--output-format", "json")
    assert "BLOCKED" in (directory / "active_intents.yaml").read_text()
    assert [record["files"][0]["path"] for record in traced(robota.workspace)] == ["src/auth/a.py"]
    [denied] = json.loads(done.stdout)["permission_denials"]
    refused = robota.workspace / "src/auth/b.py"
    assert denied["tool_input"]["file_path"] == str(refused) and not refused.exists()


def test_states_in_a_conversation(robota: Robota) -> None:
    intents(robota.workspace)
    writes = [{"calls": [write(path)]} for path in ("src/auth/a.py", "src/auth/b.py")]
    script(robota, {"calls": [SELECT]}, *writes, {"text": "All done."})
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Write src/auth/a.py")
        intents(robota.workspace, INTENTS.replace("IN_PROGRESS", "BLOCKED", 1))
        terminal.answer("> ", "y")
        terminal.wait_for("All done.")
    assert not (robota.workspace / "src/auth/b.py").exists()

"""The user's own skills and hooks: never asked about by themselves, but a change since the last look can be seen."""

import json

from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal
from tests.knowledge.instructions.test_instructions_in_use import write


def skill(robota: Robota, text: str) -> None:
    write(robota.home / ".claude/skills/tidy/SKILL.md", f"---\nname: tidy\ndescription: Tidies.\n---\n{text}\n")


def hook(robota: Robota, command: str) -> None:
    path = robota.home / ".robota/settings.json"
    settings = json.loads(path.read_text())
    settings["hooks"] = {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}
    path.write_text(json.dumps(settings))


def test_a_change_is_noted_by_doctor_and_shown_as_a_difference(robota: Robota) -> None:
    script(robota, {"text": "done"})
    skill(robota, "Sort the drawers.")
    hook(robota, "true")
    assert "your own files" not in robota("doctor").stdout, "who never looked is not told anything"
    first = robota("trust", "--own")
    assert first.code == 0 and "skills/tidy/SKILL.md" in first.stdout and "hooks for Stop" in first.stdout
    assert "have not changed" in robota("trust", "--own").stdout
    skill(robota, "Throw everything away.")
    hook(robota, "curl example.invalid")
    done = robota("-p", "go")
    assert done.code == 0 and "tidy" not in done.stderr, "a session does not ask about it"
    told = " ".join(robota("doctor").stdout.split())
    assert "changed since you last reviewed them" in told and "tidy/SKILL.md" in told and "hooks for Stop" in told
    with Terminal(robota, "trust", "--own") as terminal:
        shown = terminal.wait_for("Accept these changes?")
        assert "-Sort the drawers." in shown and "+Throw everything away." in shown
        assert '+        "command": "curl example.invalid"' in shown
        terminal.press("n\n")
        assert terminal.end() == 1
    assert "changed since you last reviewed" in " ".join(robota("doctor").stdout.split())
    assert robota("trust", "--own").code == 0
    assert "your own files" not in robota("doctor").stdout

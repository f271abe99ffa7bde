"""Previewing, condensing, undoing and pinning in a conversation."""

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal

READ = {"calls": [call("read_file", path="a.txt")], "usage": {"input": 9_000, "output": 30}}
AGAIN = {"calls": [call("read_file", path="b.txt")]}
DONE = {"text": "All read.", "usage": {"input": 9_500, "output": 30}}
SUMMARY = {"text": "<summary>It was read.</summary>"}


def test_preview_pin_compact_and_undo(robota: Robota) -> None:
    for name in ("a.txt", "b.txt"):
        (robota.workspace / name).write_text("".join(f"line {number}\n" for number in range(500)))
    script(robota, READ, AGAIN, DONE, SUMMARY)
    with Terminal(robota, "read it") as terminal:
        terminal.wait_for("All read.")
        terminal.answer("> ", "/compact preview")
        shown = terminal.wait_for("/pin TURN keeps a turn verbatim.")
        assert "summarised" in shown and "F a.txt" in shown
        terminal.answer("> ", "/pin 2")
        terminal.wait_for("Turn 2 is pinned.")
        terminal.answer("> ", "/pin 77")
        terminal.wait_for("Turn 77 is not in the context")
        terminal.answer("> ", "/compact")
        terminal.wait_for("conversation condensed")
        terminal.answer("> ", "/context all")
        shown = terminal.wait_for("Cost so far")
        assert "F a.txt (pinned)" in shown and "C summary of turns 0 to 4" in shown
        terminal.answer("> ", "/compact undo")
        terminal.wait_for("The removed content is back in the context.")
        terminal.answer("> ", "/compact undo")
        terminal.wait_for("Nothing was removed from this conversation")
        terminal.answer("> ", "/exit")
        assert terminal.end() == 0


def test_context_commands_work_in_a_resumed_idle_session(robota: Robota) -> None:
    for name in ("a.txt", "b.txt"):
        (robota.workspace / name).write_text("".join(f"line {number}\n" for number in range(500)))
    script(robota, READ, AGAIN, DONE, SUMMARY)
    with Terminal(robota, "read it") as terminal:
        terminal.wait_for("All read.")
        terminal.answer("> ", "/compact")
        terminal.wait_for("conversation condensed")
        terminal.answer("> ", "/exit")
        assert terminal.end() == 0
    script(robota, SUMMARY, {"text": "Gone on."})
    with Terminal(robota, "-c") as terminal:
        terminal.wait_for("All read.")
        terminal.answer("> ", "/context all")
        assert "C summary of turns 0 to 4" in terminal.wait_for("Cost so far")
        terminal.answer("> ", "/compact undo")
        terminal.wait_for("The removed content is back in the context.")
        terminal.answer("> ", "/pin 2")
        terminal.wait_for("Turn 2 is pinned.")
        terminal.answer("> ", "/compact preview")
        terminal.wait_for("/pin TURN keeps a turn verbatim.")
        terminal.answer("> ", "/compact")
        terminal.wait_for("condensed before the next request")
        terminal.answer("> ", "go on")
        terminal.wait_for("conversation condensed")
        terminal.wait_for("Gone on.")
        terminal.answer("> ", "/context all")
        assert "F a.txt (pinned)" in terminal.wait_for("Cost so far")
        terminal.answer("> ", "/exit")
        assert terminal.end() == 0

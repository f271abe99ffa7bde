"""`robota context`: what the model had in view at the end of a session."""

import json

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal

TURNS = (
    {"calls": [call("read_file", path="a.txt")], "usage": {"input": 6_000, "output": 10}},
    {"text": "Read.", "usage": {"input": 7_000, "output": 10}},
)


def test_the_newest_session_is_shown_to_people_and_programs(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("line\n" * 500)
    script(robota, *TURNS, modelInfo={"contextWindow": 50_000, "maxOutputTokens": 5_000})
    assert robota("-p", "Read it.").code == 0
    seen = robota("context")
    assert seen.code == 0, seen.stderr
    assert seen.stdout.startswith("7,010 of 50,000 tokens in the context (14 %)")
    assert "F a.txt" in seen.stdout
    (session,) = sessions(robota)
    told = json.loads(robota("context", session.name[:12], "--json").stdout)
    assert told == json.loads(robota("context", "read", "--json").stdout), "words find it as everywhere"
    assert (told["usedTokens"], told["condenseAt"]) == (7_010, 37_575)
    assert sum(entry["tokens"] for entry in told["entries"]) == 7_010


def test_what_is_not_there_is_said(robota: Robota) -> None:
    without = robota("context")
    assert without.code == 1 and "There is no session of this machine" in without.stderr
    unknown = robota("context", "nope")
    assert unknown.code == 1 and "no session 'nope'" in unknown.stderr


def test_a_session_in_which_nothing_was_asked_has_nothing_in_view(robota: Robota) -> None:
    script(robota, {"fault": {"kind": "auth"}})
    robota("-p", "Read it.")
    (session,) = sessions(robota)
    log = session / "log.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    seen = robota("context", session.name)
    assert seen.code == 1 and "Nothing was sent to a model" in seen.stderr


def test_what_was_condensed_is_brought_back_from_the_command_line(robota: Robota) -> None:
    for name in ("a.txt", "b.txt"):
        (robota.workspace / name).write_text("".join(f"line {number}\n" for number in range(500)))
    reads = [{"calls": [call("read_file", path=name)], "usage": {"input": 9_000}} for name in ("a.txt", "b.txt")]
    script(robota, *reads, {"text": "Read.", "usage": {"input": 9_500}}, {"text": "<summary>It was read.</summary>"})
    with Terminal(robota, "read it") as terminal:
        terminal.wait_for("Read.")
        terminal.answer("> ", "/compact")
        terminal.wait_for("conversation condensed")
        refused = robota("context", "restore")
        assert refused.code == 1 and "is open in" in refused.stderr
        terminal.answer("> ", "/exit")
        assert terminal.end() == 0
    assert "summary of turns" in robota("context", "--all").stdout
    wrong = robota("context", "restore", "--id", "condense-1")
    assert wrong.code == 1 and "There is no 'condense-1' to undo. What can be undone: condense-" in wrong.stderr
    told = json.loads(robota("context", "restore", "--json").stdout)
    assert told["newContextTokens"] > told["prevContextTokens"]
    shown = robota("context", "--all").stdout
    assert "summary of turns" not in shown and "F a.txt" in shown
    again = robota("context", "restore")
    assert again.code == 1 and "Nothing was removed" in again.stderr
    assert robota("sessions", "verify", told["session"]).code == 0

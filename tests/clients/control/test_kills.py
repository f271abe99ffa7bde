"""Either side is killed at many moments: the other ends, and the session can be resumed.

Nothing runs that was not allowed.
"""

import json
import signal
from typing import Any

import pytest

from tests.cli.scripts import call, script, sessions
from tests.clients.control.test_lines import ASKING, prompt, request, start
from tests.harness.cli import Robota

TURNS: tuple[dict[str, Any], ...] = (
    {"text": "I read.", "calls": [call("list_files", path=".")]},
    {"calls": [call("write_to_file", path="denied.txt", content="x")]},
    {"calls": [call("write_to_file", path="allowed.txt", content="x")]},
    {"text": "The end."},
)


def answer_to(read: dict[str, Any]) -> str:
    """What the program decides: only one of the files may be written."""
    given = read["request"].get("input", {})
    allows = str(given.get("file_path", "")).endswith("allowed.txt")
    decided = {"behavior": "allow", "updatedInput": given} if allows else {"behavior": "deny", "message": "no"}
    response = {"subtype": "success", "request_id": read["request_id"], "response": decided}
    return json.dumps({"type": "control_response", "response": response}) + "\n"


def played(robota: Robota, lines: int, *, kills_robota: bool) -> int:
    """Play until so many lines were read, then kill one side. Returns the exit code of Robota."""
    script(robota, *TURNS)
    with start(robota, ASKING) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(request("1", "initialize", hooks=None) + "\n" + prompt("go") + "\n")
        process.stdin.flush()
        for number, line in enumerate(process.stdout):
            if number == lines:
                break
            read = json.loads(line)
            if read["type"] == "control_request":
                process.stdin.write(answer_to(read))
                process.stdin.flush()
            if read["type"] == "result":
                break
        if kills_robota:
            process.send_signal(signal.SIGKILL)
        # As after the death of the program, whose ends of both pipes the system closes.
        process.stdout.close()
        process.stdin.close()
        return process.wait(timeout=60)


@pytest.mark.parametrize("kills_robota", [True, False])
@pytest.mark.parametrize("lines", range(0, 12, 2))
def test_a_killed_side_leaves_nothing_undecided(robota: Robota, lines: int, kills_robota: bool) -> None:
    played(robota, lines, kills_robota=kills_robota)
    assert not (robota.workspace / "denied.txt").exists()
    stored = sessions(robota) if (robota.workspace / ".robota/sessions").exists() else []
    if not stored or '"go"' not in (stored[0] / "log.jsonl").read_text():
        return  # killed before the prompt
    assert robota("sessions", "verify", stored[0].name).code == 0
    script(robota, {"text": "Resumed."})
    assert robota("-p", "-r", stored[0].name, "go on").stdout == "Resumed.\n"

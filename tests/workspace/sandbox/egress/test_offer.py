"""A host that is not on the list: the user is told which, and offered to run the command without the sandbox."""

import json
from pathlib import Path

from robota.workspace.sandbox.backend import SandboxKind
from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal
from tests.workspace.sandbox.cells import PYTHON, Cell


def test_the_refused_host_is_named_in_the_offer(robota: Robota, tmp_path: Path) -> None:
    Cell(SandboxKind.BUBBLEWRAP, tmp_path / "probe")  # skips where a list cannot be enforced
    fetch = f"{PYTHON} -c \"import urllib.request; urllib.request.urlopen('http://two.example/')\""
    script(robota, {"calls": [call("execute_command", command=fetch)]}, {"text": "All done."})
    settings = robota.home / ".robota" / "settings.json"
    listed = {"sandbox": {"allowedHosts": ["one.example"]}}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **listed}))
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        terminal.wait_for("refused a connection to two.example (not in sandbox.allowedHosts).")
        terminal.answer("> ", "n")
        terminal.wait_for("All done.")

"""R9: Robota itself was stopped (Ctrl-Z) for longer than a command may take, and the command ended meanwhile."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.workspace.process.commanding import Witness

LIMIT_S = 3
RUN = """
import asyncio, sys
from pathlib import Path
from robota.workspace.process.processes import LocalProcesses

async def main():
    processes = LocalProcesses()
    show = lambda text: print(text, end="", flush=True)
    done = await processes.run(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), show)
    processes.close()
    print(done.ending.stopped_for, done.exit_code, flush=True)

asyncio.run(main())
"""


def test_r9_a_command_that_succeeded_meanwhile_is_not_late(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    os.mkfifo(tmp_path / "go")
    command = "exec 3> witness; echo started; read word < go; exit 0"
    robota = subprocess.Popen(
        [sys.executable, "-c", RUN, command, str(tmp_path), str(LIMIT_S)], stdout=subprocess.PIPE, text=True
    )
    assert robota.stdout is not None
    assert robota.stdout.readline() == "started\n"
    began = time.monotonic()
    robota.send_signal(signal.SIGSTOP)
    (tmp_path / "go").write_text("go\n")
    witness.wait_until_gone()
    while time.monotonic() - began < LIMIT_S + 0.5:
        time.sleep(0.1)
    robota.send_signal(signal.SIGCONT)
    assert robota.communicate()[0] == "None 0\n"

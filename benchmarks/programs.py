"""How soon programs that drive Robota get their first answer: editors, and programs with Claude's SDKs."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from statistics import median

from benchmarks.bench import ROBOTA, Bench
from benchmarks.measurement import Measurement

ROUNDS = 9
# Runs a turn in this interpreter, and prints what it has imported.
LIST_IMPORTS = """
import sys
from contextlib import suppress
from robota.cli.main import main
with suppress(SystemExit):
    main(["-p", "Go."])
print("modules:", *(name for name in sys.modules if name.isidentifier() or name.startswith("robota")))
"""
CONTROL = ("--output-format", "stream-json", "--verbose", "--include-partial-messages", "--input-format", "stream-json")
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
BEGIN = {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize", "hooks": None}}
PROMPT = {"type": "user", "message": {"role": "user", "content": "hello"}}


def programs(bench: Bench) -> list[Measurement]:
    """The least that can be expected is the start of `robota --version` and the imports of a turn."""
    acp: list[float] = []
    control: list[float] = []
    floor: list[float] = []
    first: list[float] = []
    plain: list[float] = []
    bench.play("hello")
    floor_imports = ", ".join(_imports_of_a_turn(bench))
    for _ in range(ROUNDS):
        floor.append(_ended(bench, (sys.executable, "-c", f"import gc; gc.disable(); import {floor_imports}")))
        acp.append(_until(bench, ("acp",), [INITIALIZE], "agentCapabilities"))
        control.append(_until(bench, CONTROL, [BEGIN], "control_response"))
        first.append(_until(bench, CONTROL, [PROMPT], "text_delta"))
        plain.append(_until(bench, ("-p", "hello", *CONTROL[:4]), [], "text_delta"))
    return [
        _ratio("robota acp: first answer / imports of a turn", acp, floor, 1.2),
        _ratio("stream-json: initialize / imports of a turn", control, floor, 1.2),
        _ratio("stream-json: first token / that of -p", first, plain, 1.05),
    ]


def _imports_of_a_turn(bench: Bench) -> list[str]:
    command = (sys.executable, "-c", LIST_IMPORTS)
    ran = subprocess.run(command, env=bench.env, cwd=bench.workspace, check=True, capture_output=True, text=True)
    listed = next(line for line in ran.stdout.splitlines() if line.startswith("modules:"))
    return [name for name in listed.split()[1:] if name != "__main__"]


def _ended(bench: Bench, command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=bench.env, cwd=bench.workspace, check=True, capture_output=True)
    return time.perf_counter() - began


def _until(bench: Bench, arguments: Sequence[str], lines: Sequence[object], word: str) -> float:
    """Seconds from the start until a line with this word is read."""
    began = time.perf_counter()
    with subprocess.Popen(
        [ROBOTA, *arguments],
        env=bench.env,
        cwd=bench.workspace,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        if not lines:
            process.stdin.close()  # print mode waits for what may be piped into it
        found = next(line for line in process.stdout if word in line)
        took = time.perf_counter() - began
        assert found
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.read()
    return took


def _ratio(name: str, ours: list[float], floor: list[float], target: float) -> Measurement:
    mine, least = median(ours) * 1000, median(floor) * 1000
    detail = f"{mine:.0f} ms / {least:.0f} ms, medians of {len(ours)}"
    return Measurement(name=name, value=mine / least, target=target, unit="x", detail=detail)

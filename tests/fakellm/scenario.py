"""What the "model" does: a scenario decides the reply to each request."""

import json
import random
from pathlib import Path
from typing import Any, Final

from tests.fakellm.shapes import HELLO, Call, Reply, Request, Tool, pieces, plain_name
from tests.fakellm.workspace import Workspace

# Tool names of known clients, best first, as `plain_name` writes them.
READ_TOOLS: Final = ["readfile", "read", "view", "viewfile", "openfile", "readfiles", "fileread"]
SHELL_TOOLS: Final = [
    "execcommand",
    "shellcommand",
    "shell",
    "bash",
    "executecommand",
    "runshellcommand",
    "runcommand",
    "runcommands",
    "localshell",
    "terminal",
    "executebash",
    "exec",
]
FINISH_TOOLS: Final = ["attemptcompletion", "finish", "submitandexit", "taskcomplete"]
# One client ends by a shell command that echoes this.
FINISH_COMMAND: Final = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
# Robota asks for a summary at the end of a conversation, with all tools.
SUMMARY_WANTED: Final = "<condense_request>"
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
CUT_TEXT: Final = ("This ", "is cu", "t sho", "rt he")
WIRE_FAULTS: Final = ("cut", "eof", "stall", "badsse")


class Scenario:
    """Counts the main requests and says what comes next. `main` says which requests count: those with tools, or all."""

    def __init__(self, spec: str, workspace: Workspace, prefer: str = "read", main: str = "tools") -> None:
        self.workspace, self.prefer, self.main = workspace, prefer, main
        self.name, _, rest = spec.partition(":")
        self.turn = 0
        self.length = 0
        self.fault, self.fault_count = "", 1
        self.script: list[dict[str, Any]] = []
        if self.name in ("loop", "stream"):
            self.length = int(rest)
        elif self.name == "fault":
            self.fault, _, count = rest.partition(":")
            self.fault_count = int(count or 1)
        elif self.name == "script":
            self.script = json.loads(Path(rest).read_text())
        elif self.name != "hello":
            raise ValueError(f"unknown scenario {spec!r}")
        workspace.make(self.length if self.name == "loop" else 3)

    def is_main(self, request: Request) -> bool:
        said = request.body.get("messages") or request.body.get("input") or request.body.get("contents") or ()
        is_summary = SUMMARY_WANTED in str(said[-1:])
        return self.main == "all" or (bool(request.asked.tools) and not is_summary)

    def answer(self, request: Request) -> Reply:
        if not self.is_main(request):
            return self._side_answer(request)
        number, self.turn = self.turn, self.turn + 1
        if self.name == "stream":
            return self._finish(request, "stream", _varied_words(self.length))
        if self.name == "loop" and number < self.length:
            call = self._call(self._pick(request), number)
            return Reply(f"call:{call.name}", ("Reading. ",), (call,))
        if self.name == "fault" and (self.fault_count == 0 or number < self.fault_count):
            return self._faulty(request, self.fault, number)
        if number < len(self.script):
            return self._scripted(request, self.script[number], number)
        return self._finish(request, "final", pieces(HELLO, 4))

    def _side_answer(self, request: Request) -> Reply:
        """Titles, topic checks and the like: short, and not part of the scenario."""
        schema = request.asked.json_schema
        return Reply("side", (json.dumps(self.workspace.fill(schema, "", 0)) if schema else "A title",))

    def _scripted(self, request: Request, turn: dict[str, Any], number: int) -> Reply:
        if "fault" in turn:
            return self._faulty(request, str(turn["fault"]), number)
        calls = tuple(
            Call(call["name"], call["args"] if isinstance(call["args"], str) else json.dumps(call["args"]))
            for call in turn.get("calls", [])
        )
        return Reply(f"script:{number}", pieces(turn["text"], 4) if turn.get("text") else (), calls)

    def _pick(self, request: Request) -> Tool:
        """The client's read (or shell) tool; without one, its first tool; without any, a made-up one."""
        by_name = {plain_name(tool.name): tool for tool in reversed(request.asked.tools) if tool.kind != "custom"}
        for name in READ_TOOLS + SHELL_TOOLS if self.prefer == "read" else SHELL_TOOLS + READ_TOOLS:
            if name in by_name:
                return by_name[name]
        return next(iter(by_name.values()), Tool("read_file", {"properties": {"path": {"type": "string"}}}))

    def _call(self, tool: Tool, number: int) -> Call:
        if tool.kind == "local_shell":
            command = ["bash", "-c", f"cat {self.workspace.path(number)}"]
            return Call(tool.name, json.dumps({"type": "exec", "command": command, "env": {}}), tool.kind)
        return Call(tool.name, json.dumps(self.workspace.fill(tool.schema, tool.name, number)), tool.kind)

    def _finish(self, request: Request, label: str, chunks: tuple[str, ...]) -> Reply:
        """The last answer: a text, or the client's own way of saying that the task is done."""
        tools = request.asked.tools
        tool = next((tool for tool in tools if plain_name(tool.name) in FINISH_TOOLS), None)
        if tool:
            call = Call(tool.name, json.dumps(self._finish_arguments(tool, "".join(chunks))))
            return Reply(label, chunks if self.name == "stream" else (), (call,))
        if tools and FINISH_COMMAND in json.dumps(request.body):
            echo = json.dumps({"command": f"echo {FINISH_COMMAND}"})
            return Reply(label, chunks, (Call(self._pick(request).name, echo),))
        return Reply(label, chunks)

    def _finish_arguments(self, tool: Tool, text: str) -> dict[str, Any]:
        properties = tool.schema.get("properties", {})
        required = tool.schema.get("required", list(properties)[:1])
        return {
            name: text
            if properties[name].get("type") == "string" and "enum" not in properties[name]
            else self.workspace.fill(properties[name], name, 0, tool.schema)
            for name in required
        }

    def _faulty(self, request: Request, kind: str, number: int) -> Reply:
        label, tool = f"fault:{kind}", self._pick(request)
        if kind.isdigit():
            return Reply(label, status=int(kind))
        if kind in WIRE_FAULTS:
            return Reply(label, CUT_TEXT, fault=kind)
        call = self._call(tool, number)
        calls: dict[str, tuple[Call, ...]] = {
            "empty": (),
            "cutcall": (call,),
            "parallel": tuple(self._call(tool, other) for other in range(3)),
            "badjson": (Call(call.name, call.args[:-2].replace(":", " ", 1)),),
            "badargs": (Call(call.name, '{"no_such_argument": [1, {"a": null}]}'),),
            "badtool": (Call("no_such_tool", call.args),),
        }
        chosen = calls[kind]
        return Reply(label, ("Reading. ",) if chosen else (), chosen, fault=kind if kind == "cutcall" else "")


def _varied_words(count: int) -> tuple[str, ...]:
    """Varied, because clients look for loops; the same in every run."""
    chance = random.Random(0)
    return tuple("".join(chance.choices(LETTERS, k=3)) + ("\n" if place % 16 == 15 else " ") for place in range(count))

"""An MCP server that says, word for word, what the file it is started with tells it to, also what is no JSON.

The file is JSON: `tools` and `answer` are the texts of two results, `before` are lines to say before the answer to a
call (`$ID` stands for the id of that call), `heard` is a file to note every line it is told in.
"""

import json
import sys
from pathlib import Path
from typing import Any

INFO = {"name": "raw", "version": "1"}
GREETING = json.dumps({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": INFO})
NOT_KNOWN = '"error": {"code": -32601, "message": "Method not found"}'


def say(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")
    sys.stdout.buffer.flush()


def serve(plan: dict[str, Any]) -> None:
    answers = {"initialize": GREETING, "tools/list": plan["tools"], "tools/call": plan["answer"]}
    for line in sys.stdin:
        with Path(plan["heard"]).open("a") as file:
            file.write(line)
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        name = json.dumps(request["id"])
        if request["method"] == "tools/call":
            for prelude in plan["before"]:
                say(prelude.replace("$ID", name))
        found = answers.get(request["method"])
        outcome = NOT_KNOWN if found is None else f'"result": {found}'
        say(f'{{"jsonrpc": "2.0", "id": {name}, {outcome}}}')


if __name__ == "__main__":
    serve(json.loads(Path(sys.argv[1]).read_text()))

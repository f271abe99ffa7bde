"""A language server that does as it is told: `python scripted_server.py '{"hang": "initialize"}'`.

It answers definitions and references with the place that it is asked about, and reports one diagnostic for each line
that contains `bad`.
"""

import json
import sys
import time
from typing import Any

PLAN: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
DOCUMENTS: dict[str, str] = {}
VERSIONS: dict[str, int] = {}
LOG: list[Any] = []


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def received() -> dict[str, Any] | None:
    length = 0
    while (line := sys.stdin.buffer.readline().strip()) or not length:
        if not line and not length:
            return None
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    message: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
    return message


def diagnostics(uri: str) -> list[dict[str, Any]]:
    return [
        {
            "range": {"start": {"line": number, "character": 0}, "end": {"line": number, "character": 3}},
            "message": "this is bad",
            "severity": 1,
            "code": "bad-line",
        }
        for number, line in enumerate(DOCUMENTS.get(uri, "").split("\n"))
        if "bad" in line
    ]


def publish(uri: str) -> None:
    if PLAN.get("publishes"):
        params: dict[str, Any] = {"uri": uri, "diagnostics": diagnostics(uri)}
        if PLAN["publishes"] == "stale":
            params = {"uri": uri, "version": VERSIONS[uri] - 1, "diagnostics": [*diagnostics(uri)] * 2}
        elif PLAN["publishes"] == "versioned":
            params["version"] = VERSIONS[uri]
        send({"method": "textDocument/publishDiagnostics", "params": params})


def capabilities() -> dict[str, Any]:
    provided: dict[str, Any] = {
        "positionEncoding": PLAN.get("encoding", "utf-16"),
        "textDocumentSync": PLAN.get("sync", 1),
        "definitionProvider": True,
        "referencesProvider": True,
        "renameProvider": True,
        "hoverProvider": True,
    }
    if PLAN.get("pulls") == "static":
        provided["diagnosticProvider"] = {"interFileDependencies": False}
    return provided


def answer(method: str, params: Any) -> Any:
    match method:
        case "initialize":
            return {"capabilities": capabilities(), "serverInfo": {"name": "scripted", "version": "1"}}
        case "textDocument/definition" | "textDocument/references":
            position = params["position"]
            where = {"start": position, "end": position}
            place = {"uri": PLAN.get("at", params["textDocument"]["uri"]), "range": where}
            if PLAN.get("links"):
                return [{"targetUri": place["uri"], "targetRange": where, "targetSelectionRange": where}]
            return place if PLAN.get("bare") else [place]
        case "textDocument/hover":
            return {"contents": [{"language": "x", "value": "fetch()"}, json.dumps(LOG)]}
        case "textDocument/diagnostic":
            return {"kind": "full", "items": diagnostics(params["textDocument"]["uri"])}
        case "textDocument/rename":
            return PLAN.get("edit")
        case _:
            return None


def misbehave(method: str) -> None:
    if method == PLAN.get("dies"):
        sys.exit(3)
    if method == PLAN.get("floods"):
        sys.stdout.buffer.write(b"Content-Length: 99999999999\r\n\r\n" + b"x" * 100_000)
    if method == PLAN.get("garbage"):
        sys.stdout.buffer.write(b"Content-Length: 3\r\n\r\n{x}")
    sys.stdout.buffer.flush()
    if method == PLAN.get("hang"):
        time.sleep(3600)


def note(method: str, params: Any) -> None:
    document = params.get("textDocument", {})
    match method:
        case "textDocument/didOpen" | "textDocument/didChange":
            changed = params.get("contentChanges", [document])[0]
            DOCUMENTS[document["uri"]], VERSIONS[document["uri"]] = changed["text"], document["version"]
            publish(document["uri"])
        case "initialized" if PLAN.get("pulls") == "dynamic":
            registration = {"id": "1", "method": "textDocument/diagnostic"}
            send({"id": "r1", "method": "client/registerCapability", "params": {"registrations": [registration]}})
        case "exit":
            sys.exit(0)


def handle(message: dict[str, Any]) -> None:
    method, params = message.get("method", ""), message.get("params") or {}
    LOG.append([method, params.get("changes")] if method.endswith("WatchedFiles") else method)
    misbehave(method)
    if "id" not in message:
        note(method, params)
    elif method == PLAN.get("fails") or (method == "shutdown" and "params" in message):
        send({"id": message["id"], "error": {"code": -32602, "message": "it does not want to"}})
    elif method:
        send({"id": message["id"], "result": answer(method, params)})


while (message := received()) is not None:
    handle(message)

"""Google Gemini."""

import json
from typing import Any, Final

from tests.fakellm.shapes import Asked, Json, Reply, Request, Tool, sse, tokens

STATUS_NAMES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


class Gemini:
    name = "Gemini"

    def parse(self, body: Json) -> Asked:
        tools = tuple(
            Tool(function["name"], function.get("parametersJsonSchema") or function.get("parameters") or {})
            for tool in body.get("tools") or []
            for function in tool.get("functionDeclarations") or []
        )
        config = body.get("generationConfig") or {}
        return Asked(
            tools=tools,
            stream=False,
            n_messages=len(body.get("contents", [])),
            json_schema=config.get("responseJsonSchema") or config.get("responseSchema"),
        )

    def whole(self, reply: Reply, request: Request) -> Json:
        return _closing(reply, request, [{"text": reply.text}] if reply.chunks else [])

    def events(self, reply: Reply, request: Request) -> list[bytes]:
        frames = [sse(_frame(request, [{"text": text}])) for text in reply.chunks]
        return [*frames, sse(_closing(reply, request, []))]

    def error(self, status: int) -> Json:
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}
        return {
            "error": {
                "code": status,
                "message": f"fake error {status}",
                "status": STATUS_NAMES.get(status, "INTERNAL"),
                "details": [retry] if status == 429 else [],
            }
        }


def _frame(request: Request, parts: list[Json], **more: Any) -> Json:
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **more}],
        "modelVersion": request.model,
        "responseId": f"resp_{request.n_messages}",
    }


def _closing(reply: Reply, request: Request, parts: list[Json]) -> Json:
    finish = "STOP"
    sent, received = tokens(request, reply)
    for call in reply.calls:
        try:
            parts.append({"functionCall": {"name": call.name, "args": json.loads(call.args)}})
        except ValueError:
            finish = "MALFORMED_FUNCTION_CALL"
    usage = {"promptTokenCount": sent, "candidatesTokenCount": received, "totalTokenCount": sent + received}
    return {**_frame(request, parts, finishReason=finish), "usageMetadata": usage}

"""OpenAI Chat Completions."""

import json
from typing import Final

from tests.fakellm.shapes import CREATED, Asked, Json, Reply, Request, Tool, pieces, sse, tokens

ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Chat:
    name = "Chat"

    def parse(self, body: Json) -> Asked:
        tools = tuple(
            Tool(tool["function"]["name"], tool["function"].get("parameters") or {})
            for tool in body.get("tools") or []
            if tool.get("type", "function") == "function"
        )
        wanted = (body.get("response_format") or {}).get("json_schema") or {}
        return Asked(
            tools=tools,
            stream=bool(body.get("stream")),
            n_messages=len(body.get("messages", [])),
            json_schema=wanted.get("schema"),
        )

    def whole(self, reply: Reply, request: Request) -> Json:
        prompt, completion = tokens(request, reply)
        message: Json = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{request.n_messages}_{place}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.args},
                }
                for place, call in enumerate(reply.calls)
            ]
        finish = "tool_calls" if reply.calls else "stop"
        return {
            "id": f"chatcmpl-{request.n_messages}",
            "object": "chat.completion",
            "created": CREATED,
            "model": request.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
        }

    def events(self, reply: Reply, request: Request) -> list[bytes]:
        whole = self.whole(reply, request)
        usage, choice = whole.pop("usage"), whole.pop("choices")[0]
        whole["object"] = "chat.completion.chunk"

        def chunk(delta: Json, finish: str | None = None) -> bytes:
            return sse({**whole, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        # The hot loop: only the text differs.
        head, tail = chunk({"content": "@@"}).split(b'"@@"')
        frames = [chunk({"role": "assistant", "content": ""})]
        frames += [head + json.dumps(text).encode() + tail for text in reply.chunks]
        for place, call in enumerate(choice["message"].get("tool_calls", [])):
            function = call["function"]
            frames.append(chunk({"tool_calls": [{**call, "index": place, "function": {**function, "arguments": ""}}]}))
            for piece in pieces(function["arguments"]):
                frames.append(chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]}))
        frames.append(chunk({}, choice["finish_reason"]))
        if (request.body.get("stream_options") or {}).get("include_usage"):
            frames.append(sse({**whole, "choices": [], "usage": usage}))
        return [*frames, b"data: [DONE]\n\n"]

    def error(self, status: int) -> Json:
        kind = ERROR_TYPES.get(status, "api_error")
        return {"error": {"message": f"fake error {status}", "type": kind, "param": None, "code": str(status)}}

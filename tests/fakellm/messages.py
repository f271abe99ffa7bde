"""Anthropic Messages."""

import json
from typing import Any

from tests.fakellm.chat import ERROR_TYPES
from tests.fakellm.shapes import Asked, Json, Reply, Request, Tool, pieces, sse, tokens


class Messages:
    name = "Anthropic"

    def parse(self, body: Json) -> Asked:
        tools = [Tool(tool["name"], tool["input_schema"]) for tool in body.get("tools") or [] if "input_schema" in tool]
        wanted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
        return Asked(
            tools=tuple(tools),
            stream=bool(body.get("stream")),
            n_messages=len(body.get("messages", [])),
            json_schema=wanted.get("schema"),
        )

    def whole(self, reply: Reply, request: Request) -> Json:
        sent, received = tokens(request, reply)
        content: list[Json] = [{"type": "text", "text": reply.text}] if reply.chunks else []
        for place, call in enumerate(reply.calls):
            try:
                arguments = json.loads(call.args)
            except ValueError:
                # Broken JSON exists only in a stream.
                arguments = {"_raw": call.args}
            identity = f"toolu_{request.n_messages}_{place}"
            content.append({"type": "tool_use", "id": identity, "name": call.name, "input": arguments})
        usage = {
            "input_tokens": sent,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": received,
        }
        return {
            "id": f"msg_{request.n_messages}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": content,
            "stop_reason": "tool_use" if reply.calls else "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }

    def events(self, reply: Reply, request: Request) -> list[bytes]:
        whole = self.whole(reply, request)
        opening = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
        frames = [_event("message_start", message=opening), _event("ping")]
        for place, block in enumerate(whole["content"]):
            if block["type"] == "text":
                frames.append(_event("content_block_start", index=place, content_block={"type": "text", "text": ""}))
                frames += _text_frames(place, reply)
            else:
                frames.append(_event("content_block_start", index=place, content_block={**block, "input": {}}))
                for piece in pieces(reply.calls[place - bool(reply.chunks)].args):
                    delta = {"type": "input_json_delta", "partial_json": piece}
                    frames.append(_event("content_block_delta", index=place, delta=delta))
            frames.append(_event("content_block_stop", index=place))
        closing = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        return [*frames, _event("message_delta", delta=closing, usage=whole["usage"]), _event("message_stop")]

    def error(self, status: int) -> Json:
        kind = ERROR_TYPES.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": f"fake error {status}"}}


def _event(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, kind)


def _text_frames(place: int, reply: Reply) -> list[bytes]:
    # The hot loop: only the text differs.
    delta = _event("content_block_delta", index=place, delta={"type": "text_delta", "text": "@@"})
    head, tail = delta.split(b'"@@"')
    return [head + json.dumps(text).encode() + tail for text in reply.chunks]

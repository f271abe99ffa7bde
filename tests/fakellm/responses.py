"""OpenAI Responses."""

import json
from itertools import count
from typing import Any

from tests.fakellm.chat import Chat
from tests.fakellm.shapes import CREATED, Asked, Json, Reply, Request, Tool, pieces, sse, tokens


class Responses:
    name = "Responses"

    def parse(self, body: Json) -> Asked:
        tools, todo = [], list(body.get("tools") or [])
        for tool in todo:
            if tool.get("type") == "namespace":
                todo.extend(tool.get("tools", []))
            elif tool.get("type") in ("function", "custom", "local_shell"):
                tools.append(Tool(tool.get("name", tool["type"]), tool.get("parameters") or {}, tool["type"]))
        items = body.get("input") or []
        wanted = (body.get("text") or {}).get("format") or {}
        return Asked(
            tools=tuple(tools),
            stream=bool(body.get("stream")),
            n_messages=len(items) if isinstance(items, list) else 1,
            json_schema=wanted.get("schema"),
        )

    def whole(self, reply: Reply, request: Request) -> Json:
        sent, received = tokens(request, reply)
        usage = {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": received,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sent + received,
        }
        return {**_frame(request), "status": "completed", "output": _items(reply, request), "usage": usage}

    def events(self, reply: Reply, request: Request) -> list[bytes]:
        numbers = count()

        def event(kind: str, **fields: Any) -> bytes:
            name = f"response.{kind}"
            return sse({"type": name, "sequence_number": next(numbers), **fields}, name)

        opening = {**_frame(request), "status": "in_progress", "output": [], "usage": None}
        frames = [event("created", response=opening), event("in_progress", response=opening)]
        for place, item in enumerate(_items(reply, request)):
            at: Json = {"item_id": item["id"], "output_index": place}
            empty: Json = {key: value for key, value in (("content", []), ("arguments", "")) if key in item}
            added = {**item, "status": "in_progress", **empty}
            frames.append(event("output_item.added", output_index=place, item=added))
            if item["type"] == "message":
                part, at = item["content"][0], {**at, "content_index": 0}
                frames.append(event("content_part.added", **at, part={**part, "text": ""}))
                frames += [event("output_text.delta", **at, delta=text, logprobs=[]) for text in reply.chunks]
                frames.append(event("output_text.done", **at, text=reply.text, logprobs=[]))
                frames.append(event("content_part.done", **at, part=part))
            elif item["type"] == "function_call":
                arguments = item["arguments"]
                frames += [event("function_call_arguments.delta", **at, delta=piece) for piece in pieces(arguments)]
                done = event("function_call_arguments.done", **at, arguments=arguments, name=item["name"])
                frames.append(done)
            frames.append(event("output_item.done", output_index=place, item=item))
        return [*frames, event("completed", response=self.whole(reply, request))]

    def error(self, status: int) -> Json:
        return Chat().error(status)


def _frame(request: Request) -> Json:
    return {
        "id": f"resp_{request.n_messages}",
        "object": "response",
        "created_at": CREATED,
        "model": request.model,
        "error": None,
        "incomplete_details": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _items(reply: Reply, request: Request) -> list[Json]:
    number = request.n_messages
    items: list[Json] = []
    if reply.chunks:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append(
            {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}
        )
    for place, call in enumerate(reply.calls):
        item = {"id": f"fc_{number}_{place}", "call_id": f"call_{number}_{place}", "status": "completed"}
        if call.kind == "local_shell":
            items.append({"type": "local_shell_call", **item, "action": json.loads(call.args)})
        else:
            items.append({"type": "function_call", **item, "name": call.name, "arguments": call.args})
    return items

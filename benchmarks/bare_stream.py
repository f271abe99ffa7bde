"""The floor for streaming: read one stream with httpx2 and msgspec and do nothing else with it.

Run as a process: `python bare_stream.py DIALECT URL`; prints how many events came.
"""

import asyncio
import sys
from typing import Any

import httpx2
import msgspec

# The same finishing tool as robota offers, so that the server sends the same stream to both.
NAME = "attempt_completion"
SCHEMA = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
SAID = [{"role": "user", "content": "Go."}]


class Content(msgspec.Struct):
    content: str | None = None


class Choice(msgspec.Struct):
    delta: Content


class ChatEvent(msgspec.Struct):
    choices: list[Choice] = []


class Text(msgspec.Struct):
    text: str | None = None


class MessagesEvent(msgspec.Struct):
    type: str
    delta: Text | None = None


class ResponsesEvent(msgspec.Struct):
    type: str
    delta: str | None = None


class ContentParts(msgspec.Struct):
    parts: list[Text] = []


class Candidate(msgspec.Struct):
    content: ContentParts


class GeminiEvent(msgspec.Struct):
    candidates: list[Candidate] = []


class Dialect(msgspec.Struct, frozen=True):
    path: str
    event: type[msgspec.Struct]
    body: dict[str, Any]


DIALECTS = {
    "chat": Dialect(
        "/v1/chat/completions",
        ChatEvent,
        {
            "stream_options": {"include_usage": True},
            "messages": SAID,
            "tools": [{"type": "function", "function": {"name": NAME, "parameters": SCHEMA}}],
        },
    ),
    "messages": Dialect(
        "/v1/messages",
        MessagesEvent,
        {"max_tokens": 32_000, "messages": SAID, "tools": [{"name": NAME, "input_schema": SCHEMA}]},
    ),
    "responses": Dialect(
        "/v1/responses",
        ResponsesEvent,
        {"input": SAID, "tools": [{"type": "function", "name": NAME, "parameters": SCHEMA}]},
    ),
    "gemini": Dialect(
        "/v1beta/models/fake-model:streamGenerateContent?alt=sse",
        GeminiEvent,
        {
            "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            "tools": [{"functionDeclarations": [{"name": NAME, "parameters": SCHEMA}]}],
        },
    ),
}


async def read(dialect: Dialect, url: str) -> int:
    decode = msgspec.json.Decoder(dialect.event).decode
    body = {"model": "fake-model", "stream": True, **dialect.body}
    events = []
    async with (
        httpx2.AsyncClient(trust_env=False, verify=False) as client,
        client.stream("POST", f"{url}{dialect.path}", json=body) as answer,
    ):
        async for line in answer.aiter_lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                events.append(decode(line[6:]))
    return len(events)


if __name__ == "__main__":
    print(asyncio.run(read(DIALECTS[sys.argv[1]], sys.argv[2])))

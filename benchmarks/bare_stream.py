"""The floor for streaming: read one Chat Completions stream with httpx2 and msgspec and do nothing else with it.

Run as a process: `python bare_stream.py URL`; prints how many events came.
"""

import asyncio
import sys

import httpx2
import msgspec

FINISH = {
    "type": "function",
    "function": {
        "name": "attempt_completion",
        "parameters": {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]},
    },
}
# The same finishing tool as robota offers, so that the server sends the same stream to both.
BODY = {
    "model": "fake-model",
    "stream": True,
    "stream_options": {"include_usage": True},
    "messages": [{"role": "user", "content": "Go."}],
    "tools": [FINISH],
}


class Delta(msgspec.Struct):
    content: str | None = None


class Choice(msgspec.Struct):
    delta: Delta


class Chunk(msgspec.Struct):
    choices: list[Choice] = []


async def read(url: str) -> int:
    decoder = msgspec.json.Decoder(Chunk)
    events, text = 0, []
    async with (
        httpx2.AsyncClient(trust_env=False, verify=False) as client,
        client.stream("POST", f"{url}/v1/chat/completions", json=BODY) as answer,
    ):
        async for line in answer.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            events += 1
            text += [choice.delta.content for choice in decoder.decode(line[6:]).choices if choice.delta.content]
    return events


if __name__ == "__main__":
    print(asyncio.run(read(sys.argv[1])))

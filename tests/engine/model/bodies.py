"""Bodies of first requests, as the encoders of each wire format make them, and what a model reads in them."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from robota.engine.model.system_prompt import ModePrompt
from robota.protocol.conversation import TextBlock, UserTurn
from robota.providers.chunks import ModelRequest
from robota.providers.wire.anthropic.body import AnthropicBody
from robota.providers.wire.chat.body import ChatBody
from robota.providers.wire.client import BodyEncoder
from robota.providers.wire.gemini.body import GeminiBody
from robota.providers.wire.responses.body import ResponsesBody

ENCODERS: Mapping[str, Callable[[], BodyEncoder]] = {
    "anthropic": AnthropicBody,
    "responses": ResponsesBody,
    "chat": ChatBody,
    "gemini": GeminiBody,
}
# The last is Chat Completions for a model without function calling.
DIALECTS = (*ENCODERS, "xml")
# Fields that a model does not read.
SETTINGS = ("model", "stream", "store", "max_tokens", "stream_options", "prompt_cache_key")


class ReadTool(msgspec.Struct, frozen=True):
    """A tool as it is in a body."""

    description: str
    parameters: dict[str, Any]
    sent: dict[str, Any]


def first_body(head: ModePrompt, dialect: str, prompt: str = "Say hello.") -> dict[str, Any]:
    """What is sent for this prompt and these tools, before a model has said anything."""
    request = ModelRequest(
        model="any-model",
        system=head.system,
        turns=(UserTurn(content=(TextBlock(text=prompt),)),),
        tools=() if dialect == "xml" else head.specs,
    )
    body: dict[str, Any] = json.loads(ENCODERS.get(dialect, ChatBody)().encode(request))
    return body


def tokens_sent(part: Any) -> int:
    """What a part of a body costs: four characters of its JSON are a token."""
    return round(len(json.dumps(part, ensure_ascii=False, separators=(",", ":"))) / 4)


def read_by_model(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in body.items() if name not in SETTINGS}


def system_in(body: Mapping[str, Any]) -> str:
    """The system prompt, wherever the wire format has it."""
    if "systemInstruction" in body:
        return "".join(part["text"] for part in body["systemInstruction"]["parts"])
    if "system" in body:
        return "".join(part["text"] for part in body["system"])
    return str(body["instructions"] if "instructions" in body else body["messages"][0]["content"])


def tools_in(body: Mapping[str, Any]) -> dict[str, ReadTool]:
    """The tools by name, wherever the wire format has them; those described in the prompt are not among them."""
    listed = body.get("tools", [])
    if listed and "functionDeclarations" in listed[0]:
        listed = listed[0]["functionDeclarations"]
    return {each.get("function", each)["name"]: _tool(each) for each in listed}


def _tool(sent: dict[str, Any]) -> ReadTool:
    fields = sent.get("function", sent)
    return ReadTool(fields["description"], fields.get("parameters") or fields.get("input_schema") or {}, sent)

"""What a Responses server is sent."""

import json
from typing import Any

from robota.protocol.conversation import (
    AssistantTurn,
    ImageBlock,
    ImageSource,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
    UserTurn,
)
from robota.providers.chunks import ModelRequest
from robota.providers.wire.responses.body import ResponsesBody
from robota.providers.wire.responses.thinking import ReasoningItem, sealed
from tests.providers.conversing import READ_FILE, calling, request, result, user

PNG = ImageSource(media_type="image/png", data="AAAA")
PNG_PART = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
SEALED = sealed([ReasoningItem(id="rs_1", encrypted_content="gAAAA")])


def sent(asked: ModelRequest, body: ResponsesBody | None = None) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads((body or ResponsesBody()).encode(asked))
    return decoded


def items(*turns: Turn) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = sent(request(*turns))["input"]
    return rows


def test_the_frame_of_a_request() -> None:
    tool = {"name": "read_file", "description": "Reads a file.", "parameters": READ_FILE.schema}
    assert sent(request(user("hello"))) == {
        "model": "fake-model",
        "stream": True,
        "store": False,
        "instructions": "Be brief.",
        "tools": [{"type": "function", **tool, "strict": False}],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
    }
    bare = sent(ModelRequest(model="m", system="", turns=(user("x"),), max_output_tokens=7))
    assert bare["max_output_tokens"] == 7
    assert bare.keys() & {"tools", "instructions"} == set()


def test_only_a_model_that_reasons_is_asked_for_its_reasoning() -> None:
    body = ResponsesBody(reasons=lambda model: model == "fake-model")
    assert sent(request(user("x")), body)["include"] == ["reasoning.encrypted_content"]
    assert "include" not in sent(ModelRequest(model="plain", system="", turns=(user("x"),)), body)


def test_calls_and_results() -> None:
    call, back = items(calling("no such.tool", {"path": "ä"}), result("content"))
    assert json.loads(call.pop("arguments")) == {"path": "ä"}
    assert call == {"type": "function_call", "call_id": "c1", "name": "no_such_tool"}
    assert back == {"type": "function_call_output", "call_id": "c1", "output": "content"}


def test_results_come_before_words_and_carry_their_pictures() -> None:
    turn = UserTurn(
        content=(
            TextBlock(text="and hurry"),
            ImageBlock(source=PNG),
            ToolResultBlock(tool_use_id="a", content="seen", images=(PNG,)),
            ToolResultBlock(tool_use_id="b", content=""),
        )
    )
    assert items(turn) == [
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "seen"}, PNG_PART]},
        {"type": "function_call_output", "call_id": "b", "output": ""},
        {"role": "user", "content": [{"type": "input_text", "text": "and hurry"}, PNG_PART]},
    ]


def test_reasoning_goes_back_before_what_it_led_to() -> None:
    turn = AssistantTurn(
        content=(
            ThinkingBlock(thinking="**Looking**", signature=SEALED),
            TextBlock(text="Reading."),
            ToolUseBlock(id="a", name="read_file", input={}),
        )
    )
    assert [item.get("type", item.get("role")) for item in items(turn)] == ["reasoning", "assistant", "function_call"]
    assert items(turn)[0] == REASONING


def test_reasoning_that_the_server_would_refuse_is_left_out() -> None:
    foreign = (
        ThinkingBlock(thinking="unsigned"),
        ThinkingBlock(thinking="x", signature="EqQBCgIYAhIM"),
        ThinkingBlock(thinking="x", signature="openai:[7]"),
    )
    trailing = ThinkingBlock(thinking="", signature=SEALED)
    turn = AssistantTurn(content=(*foreign, TextBlock(text="so"), trailing))
    assert items(turn) == [{"role": "assistant", "content": "so"}]
    assert items(AssistantTurn(content=(trailing,)), user("x"))[0]["role"] == "user"


def test_a_growing_conversation_is_sent_as_if_it_were_encoded_afresh() -> None:
    body = ResponsesBody()
    turns: list[Turn] = []
    for number in range(20):
        turns += [user(f"question {number}"), calling("x", {"n": number}), result("r")]
        assert body.encode(request(*turns)) == ResponsesBody().encode(request(*turns))


def test_extra_fields_of_the_profile_cannot_replace_what_we_rely_on() -> None:
    decoded = sent(request(user("x")), ResponsesBody({"temperature": 0.5, "store": True, "input": []}))
    assert decoded["temperature"] == 0.5
    assert decoded["store"] is False
    assert len(decoded["input"]) == 1

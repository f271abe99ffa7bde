"""What a Gemini server is sent."""

import json
from typing import Any

import pytest

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
from robota.providers.chunks import ModelRequest, ToolSpec
from robota.providers.wire.gemini.body import GeminiBody
from robota.providers.wire.gemini.thinking import Signatures, sealed
from tests.providers.conversing import calling, request, result, user

PNG = ImageSource(media_type="image/png", data="AAAA")
PNG_PART = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}


def sent(asked: ModelRequest, body: GeminiBody | None = None) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads((body or GeminiBody()).encode(asked))
    return decoded


def contents(*turns: Turn, model: str = "gemini-2.5-pro") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = sent(ModelRequest(model=model, system="", turns=turns))["contents"]
    return rows


def thinking(text: str = "", **signatures: Any) -> ThinkingBlock:
    return ThinkingBlock(thinking=text, signature=sealed(Signatures(**signatures)))


def test_the_frame_of_a_request() -> None:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    function = {"name": "read_file", "description": "Reads a file.", "parameters": parameters}
    assert sent(request(user("hello"))) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [function]}],
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
    }
    bare = sent(ModelRequest(model="m", system="", turns=(user("x"),), max_output_tokens=7))
    assert bare == {
        "generationConfig": {"maxOutputTokens": 7},
        "contents": [{"role": "user", "parts": [{"text": "x"}]}],
    }
    assert sent(ModelRequest(model="m", system="", turns=(user("x"),))).keys() == {"contents"}


def test_only_a_model_that_can_is_asked_to_show_its_thoughts() -> None:
    extra = {"generationConfig": {"temperature": 0, "thinkingConfig": {"thinkingBudget": 9}}}
    body = GeminiBody(extra, thinks=lambda model: model == "fake-model")
    assert sent(request(user("x")), body)["generationConfig"] == {
        "temperature": 0,
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 9},
    }
    assert "includeThoughts" not in json.dumps(sent(ModelRequest(model="x", system="", turns=()), body))


def test_results_name_the_function_they_belong_to() -> None:
    calls = AssistantTurn(
        content=(
            TextBlock(text="Both."),
            ToolUseBlock(id="a", name="read_file", input={"path": "ä"}),
            ToolUseBlock(id="b", name="no such tool", input={}),
        )
    )
    results = UserTurn(
        content=(
            TextBlock(text="and hurry"),
            ToolResultBlock(tool_use_id="a", content="seen", images=(PNG,)),
            ToolResultBlock(tool_use_id="b", content="bad", is_error=True),
        )
    )
    model, back = contents(calls, results)
    assert model["role"] == "model"
    assert model["parts"][1:] == [
        {"functionCall": {"id": "a", "name": "read_file", "args": {"path": "ä"}}},
        {"functionCall": {"id": "b", "name": "no_such_tool", "args": {}}},
    ]
    assert back["parts"] == [
        {"functionResponse": {"id": "a", "name": "read_file", "response": {"output": "seen"}}},
        {"functionResponse": {"id": "b", "name": "no_such_tool", "response": {"error": "bad"}}},
        PNG_PART,
        {"text": "and hurry"},
    ]


def test_the_same_result_after_another_call_is_named_anew() -> None:
    body, back = GeminiBody(), result("r")
    for name in ("one", "two"):
        asked = ModelRequest(model="m", system="", turns=(user("x"), calling(name, {}), back))
        assert sent(asked, body)["contents"][2]["parts"][0]["functionResponse"]["name"] == name


def test_pictures_of_the_user() -> None:
    assert contents(UserTurn(content=(ImageBlock(source=PNG), TextBlock(text="look"))))[0]["parts"] == [
        PNG_PART,
        {"text": "look"},
    ]


def test_signatures_come_back_on_the_parts_they_came_with() -> None:
    turn = AssistantTurn(
        content=(
            thinking("**Looking** around."),
            TextBlock(text="I read both."),
            thinking(last="T", length=5, next="C"),
            ToolUseBlock(id="a", name="x", input={}),
            ToolUseBlock(id="b", name="y", input={}),
        )
    )
    parts = contents(turn, model="gemini-3-pro-preview")[0]["parts"]
    assert parts[:2] == [{"text": "I read "}, {"text": "both.", "thoughtSignature": "T"}]
    assert [part.get("thoughtSignature") for part in parts[2:]] == ["C", None]


def test_signatures_of_empty_parts_of_thoughts_and_of_whole_texts() -> None:
    empty = AssistantTurn(content=(TextBlock(text="so"), thinking(last="T")))
    assert contents(empty)[0]["parts"] == [{"text": "so"}, {"text": "", "thoughtSignature": "T"}]
    whole = AssistantTurn(content=(TextBlock(text="so"), thinking(last="T", length=2)))
    assert contents(whole)[0]["parts"] == [{"text": "so", "thoughtSignature": "T"}]
    own = AssistantTurn(content=(thinking("hm", own="T"), TextBlock(text="so")))
    assert contents(own)[0]["parts"][0] == {"text": "hm", "thought": True, "thoughtSignature": "T"}


def test_what_another_model_called_is_marked_as_unsigned_for_models_that_want_signatures() -> None:
    turn = AssistantTurn(
        content=(
            ThinkingBlock(thinking="hm", signature="EqQBCgIYAhIM"),
            ToolUseBlock(id="a", name="x", input={}),
            ToolUseBlock(id="b", name="y", input={}),
        )
    )
    body = GeminiBody()
    for model, signature in (("gemini-3-pro", "skip_thought_signature_validator"), ("gemini-2.5-pro", None)):
        parts = sent(ModelRequest(model=model, system="", turns=(turn,)), body)["contents"][0]["parts"]
        assert [part.get("thoughtSignature") for part in parts] == [signature, None]


def test_a_growing_conversation_is_sent_as_if_it_were_encoded_afresh() -> None:
    body = GeminiBody()
    turns: list[Turn] = []
    for number in range(20):
        turns += [user(f"question {number}"), calling("x", {"n": number}), result("r")]
        assert body.encode(request(*turns)) == GeminiBody().encode(request(*turns))


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_function_that_takes_nothing_has_no_parameters(schema: dict[str, Any]) -> None:
    asked = request(user("x"), tools=(ToolSpec(name="f", description="d", schema=schema),))
    assert sent(asked)["tools"][0]["functionDeclarations"] == [{"name": "f", "description": "d"}]

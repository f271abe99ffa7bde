"""What a Messages server is sent."""

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
from robota.providers.wire.anthropic.body import AnthropicBody
from robota.providers.wire.anthropic.thinking import Redacted, Thought, sealed
from robota.providers.wire.opaque_signatures import seal
from tests.providers.conversing import READ_FILE, calling, request, result, user

MARK = {"type": "ephemeral"}
PNG = ImageSource(media_type="image/png", data="AAAA")
PNG_PART = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def sent(asked: ModelRequest, body: AnthropicBody | None = None) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads((body or AnthropicBody(cache_control=MARK)).encode(asked))
    return decoded


def messages(*turns: Turn) -> list[dict[str, Any]]:
    """Without cache marks."""
    rows: list[dict[str, Any]] = sent(request(*turns), AnthropicBody())["messages"]
    return rows


def marks(decoded: dict[str, Any]) -> list[str]:
    """Where the cache marks are, in the order in which the server reads the prompt."""
    places = [f"tools.{place}" for place, tool in enumerate(decoded.get("tools", [])) if "cache_control" in tool]
    places += ["system" for block in decoded.get("system", []) if "cache_control" in block]
    for number, message in enumerate(decoded["messages"]):
        last = len(message["content"]) - 1
        places += [
            f"messages.{number}.{'last' if place == last else place}"
            for place, block in enumerate(message["content"])
            if "cache_control" in block
        ]
    return places


def without_marks(node: Any) -> Any:
    if isinstance(node, list):
        return [without_marks(item) for item in node]
    if isinstance(node, dict):
        return {key: without_marks(value) for key, value in node.items() if key != "cache_control"}
    return node


def test_the_frame_of_a_request() -> None:
    decoded = without_marks(sent(request(user("hello"))))
    assert decoded == {
        "model": "fake-model",
        "max_tokens": 16_384,
        "stream": True,
        "tools": [{"name": "read_file", "description": "Reads a file.", "input_schema": READ_FILE.schema}],
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
    }
    bare = sent(ModelRequest(model="m", system=" ", turns=(user("x"),), max_output_tokens=7))
    assert bare["max_tokens"] == 7
    assert bare.keys() & {"tools", "system"} == set()


def test_cache_marks_stand_after_tools_system_and_the_two_newest_user_turns() -> None:
    turns: list[Turn] = [user("one")]
    assert marks(sent(request(*turns))) == ["tools.0", "system", "messages.0.last"]
    turns += [calling("x", {}), result("1"), calling("x", {}), result("2")]
    assert marks(sent(request(*turns))) == ["tools.0", "system", "messages.2.last", "messages.4.last"]


def test_what_was_marked_last_time_is_marked_again_and_the_beginning_never_changes() -> None:
    body = AnthropicBody(cache_control=MARK)
    turns: list[Turn] = [user("one")]
    before = sent(request(*turns), body)
    for number in range(12):
        turns += [calling("x", {"n": number}), result(str(number))]
        after = sent(request(*turns), body)
        assert len(marks(after)) == 4
        assert marks(before)[-1] in marks(after)
        assert without_marks(after["messages"])[: len(before["messages"])] == without_marks(before["messages"])
        assert body.encode(request(*turns)) == AnthropicBody(cache_control=MARK).encode(request(*turns))
        before = after


def test_without_a_cache_there_are_no_marks() -> None:
    assert marks(sent(request(user("x")), AnthropicBody())) == []


def test_calls_and_results_in_one_message_each() -> None:
    calls = AssistantTurn(
        content=(
            TextBlock(text="Reading."),
            ToolUseBlock(id="a", name="read_file", input={"path": "ä"}),
            ToolUseBlock(id="b", name="no such.tool!", input={}),
        )
    )
    results = UserTurn(
        content=(
            TextBlock(text="and hurry"),
            ToolResultBlock(tool_use_id="a", content="", images=(PNG,)),
            ToolResultBlock(tool_use_id="b", content="bad", is_error=True),
        )
    )
    assistant, back = messages(calls, results)
    assert assistant["content"][1:] == [
        {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "ä"}},
        {"type": "tool_use", "id": "b", "name": "no_such_tool_", "input": {}},
    ]
    assert back["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": [PNG_PART]},
        {"type": "tool_result", "tool_use_id": "b", "content": "bad", "is_error": True},
        {"type": "text", "text": "and hurry"},
    ]


def test_pictures_of_the_user() -> None:
    turn = UserTurn(content=(TextBlock(text="look"), ImageBlock(source=PNG)))
    assert messages(turn)[0]["content"] == [{"type": "text", "text": "look"}, PNG_PART]


def test_thoughts_go_back_piece_by_piece_under_their_own_signatures() -> None:
    signature = sealed([Thought(length=3, signature="s1"), Redacted(data="dark"), Thought(length=2, signature="s2")])
    turn = AssistantTurn(content=(ThinkingBlock(thinking="äbcde", signature=signature), TextBlock(text="so")))
    assert messages(turn)[0]["content"] == [
        {"type": "thinking", "thinking": "äbc", "signature": "s1"},
        {"type": "redacted_thinking", "data": "dark"},
        {"type": "thinking", "thinking": "de", "signature": "s2"},
        {"type": "text", "text": "so"},
    ]


def test_thoughts_that_the_server_would_refuse_are_left_out() -> None:
    foreign = [
        ThinkingBlock(thinking="unsigned"),
        ThinkingBlock(thinking="x", signature=seal("openai", [["rs_1", "gAAAA"]])),
        ThinkingBlock(thinking="changed", signature=sealed([Thought(length=2, signature="s"), Redacted(data="d")])),
        ThinkingBlock(thinking="x", signature="anthropic:[[1]]"),
        ThinkingBlock(thinking="x", signature="anthropic:{oops"),
    ]
    turn = AssistantTurn(content=(*foreign, TextBlock(text="so")))
    assert messages(turn) == [{"role": "assistant", "content": [{"type": "text", "text": "so"}]}]


def test_what_shows_nothing_is_not_sent() -> None:
    signed = ThinkingBlock(thinking="hm", signature="s")
    blank = AssistantTurn(content=(signed, TextBlock(text=" \n")))
    turns = (user("x"), blank, UserTurn(content=(TextBlock(text=""),)), user("y"))
    assert [row["content"][0]["text"] for row in messages(*turns)] == ["x", "y"]


def test_extra_fields_of_the_profile_cannot_replace_what_we_rely_on() -> None:
    decoded = sent(request(user("x")), AnthropicBody({"temperature": 0.5, "stream": False, "messages": []}))
    assert decoded["temperature"] == 0.5
    assert decoded["stream"] is True
    assert len(decoded["messages"]) == 1


def test_half_a_surrogate_pair_is_replaced_and_the_rest_is_kept() -> None:
    assert messages(user("a\ud800ü"))[0]["content"][0]["text"] == "a?ü"

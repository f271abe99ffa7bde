"""What a Chat Completions server is sent."""

import json
from typing import Any

import msgspec

from robota.protocol.conversation import (
    AssistantTurn,
    ImageBlock,
    ImageSource,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserTurn,
)
from robota.providers.chunks import ModelRequest
from robota.providers.wire.chat.body import ChatBody, ChatQuirks
from tests.providers.conversing import READ_FILE, calling, request, result, user

PNG = ImageSource(media_type="image/png", data="AAAA")
PNG_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def sent(asked: ModelRequest, body: ChatBody | None = None) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads((body or ChatBody()).encode(asked))
    return decoded


def messages(*turns: UserTurn | AssistantTurn) -> list[dict[str, Any]]:
    """Without the system message."""
    rows: list[dict[str, Any]] = sent(request(*turns))["messages"]
    return rows[1:]


def test_the_frame_of_a_request() -> None:
    body = sent(request(user("hello")))
    assert body["model"] == "fake-model"
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    function = {"name": "read_file", "description": "Reads a file.", "parameters": READ_FILE.schema}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert "tools" not in sent(request(user("hello"), tools=()))


def test_calls_and_results() -> None:
    rows = messages(calling("read_file", {"path": "ä.txt"}, text="Reading."), result("content"))
    assert rows[0]["content"] == "Reading."
    assert rows[0]["tool_calls"][0]["id"] == "c1"
    assert json.loads(rows[0]["tool_calls"][0]["function"]["arguments"]) == {"path": "ä.txt"}
    assert rows[1] == {"role": "tool", "tool_call_id": "c1", "content": "content"}
    assert messages(calling("x", {}))[0]["content"] is None


def test_results_come_before_words_even_if_they_stand_after_them() -> None:
    turn = UserTurn(
        content=(
            TextBlock(text="one"),
            ToolResultBlock(tool_use_id="a", content="A"),
            ToolResultBlock(tool_use_id="b", content="B", images=(PNG,)),
            TextBlock(text="two"),
        )
    )
    rows = messages(turn)
    assert [row["role"] for row in rows] == ["tool", "tool", "user"]
    assert [row.get("tool_call_id") for row in rows[:2]] == ["a", "b"]
    assert PNG_PART in rows[2]["content"]
    assert [part["text"] for part in rows[2]["content"] if part["type"] == "text"][-2:] == ["one", "two"]


def test_pictures_of_the_user() -> None:
    turn = UserTurn(content=(TextBlock(text="look"), ImageBlock(source=PNG)))
    assert messages(turn)[0]["content"] == [{"type": "text", "text": "look"}, PNG_PART]


def test_thinking_is_not_sent_and_an_empty_turn_leaves_no_message() -> None:
    thinking = ThinkingBlock(thinking="hm")
    assert messages(AssistantTurn(content=(thinking,)), UserTurn(content=()), user("x")) == [
        {"role": "user", "content": "x"}
    ]
    assert messages(AssistantTurn(content=(thinking, TextBlock(text="y")))) == [{"role": "assistant", "content": "y"}]


def test_texts_of_one_reply_stay_paragraphs_whatever_stood_between_them() -> None:
    """A dialect with one text per reply must not glue the last word of one text to the first of the next."""
    call = ToolUseBlock(id="1", name="x", input={})
    for between in (ThinkingBlock(thinking="hm"), call):
        turn = AssistantTurn(content=(TextBlock(text="I will look.\n"), between, TextBlock(text="Done."), call))
        assert messages(turn)[0]["content"] == "I will look.\n\nDone."
    assert messages(AssistantTurn(content=(TextBlock(text="\n a \n"),)))[0]["content"] == "\n a \n"
    assert messages(AssistantTurn(content=(TextBlock(text="a\n"), call, TextBlock(text=" "))))[0]["content"] == "a\n "


def test_half_a_surrogate_pair_is_replaced_and_the_rest_is_kept() -> None:
    assert messages(user("a\ud800ü"))[0]["content"] == "a?ü"
    arguments = messages(calling("x", {"p": "b\udcff"}))[0]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"p": "b?"}


def test_a_growing_conversation_is_sent_as_if_it_were_encoded_afresh() -> None:
    body = ChatBody()
    turns: list[UserTurn | AssistantTurn] = []
    for number in range(30):
        turns += [user(f"question {number}"), calling("x", {"n": number})]
        asked = request(*turns)
        assert body.encode(asked) == ChatBody().encode(asked)


def test_turns_that_left_the_conversation_are_let_go_and_cannot_be_mixed_up() -> None:
    body = ChatBody()
    for number in range(50):
        # Objects made and dropped in a loop get the addresses of their forerunners.
        words = [f"{number}.{place}" for place in range(number % 7 + 1)]
        asked = request(*(user(text) for text in words))
        assert [row["content"] for row in sent(asked, body)["messages"][1:]] == words
        assert len(body._fragments) == len(words)
        del asked


def test_another_system_prompt_or_tool_list_is_noticed() -> None:
    body = ChatBody()
    first, turn = request(user("x")), user("x")
    body.encode(first)
    second = ModelRequest(model="other", system="New.", turns=(turn,), tools=(), max_output_tokens=9)
    decoded = sent(second, body)
    assert (decoded["model"], decoded["messages"][0]["content"], decoded["max_tokens"]) == ("other", "New.", 9)
    assert "tools" not in decoded


def test_extra_fields_of_the_profile_cannot_replace_what_we_rely_on() -> None:
    decoded = sent(request(user("x")), ChatBody({"temperature": 0.5, "stream": False, "messages": []}))
    assert decoded["temperature"] == 0.5
    assert decoded["stream"] is True
    assert len(decoded["messages"]) == 2


def test_an_empty_object_is_sent_for_a_call_without_arguments() -> None:
    turn = AssistantTurn(content=(ToolUseBlock(id="1", name="x", input={}),))
    assert messages(turn)[0]["tool_calls"][0]["function"]["arguments"] == "{}"


MARK = {"cache_control": {"type": "ephemeral"}}
MARKING = ChatQuirks(cache_key_field="session_id", cache_marks=("anthropic/",))


def marked(rows: list[dict[str, Any]]) -> list[str]:
    """What a server caches everything up to."""
    parts = [part for row in rows for part in (row["content"] if isinstance(row["content"], list) else [])]
    return [part["text"] for part in parts if part.get("cache_control") == MARK["cache_control"]]


def for_claude(*turns: UserTurn | AssistantTurn, key: str | None = None) -> ModelRequest:
    return msgspec.structs.replace(request(*turns), model="anthropic/claude-sonnet-4.5", cache_key=key)


def test_what_a_server_caches_is_marked_where_it_wants_marks() -> None:
    """The older mark in the conversation is where the request before had its newest."""
    body = ChatBody(quirks=MARKING)
    turns: list[UserTurn | AssistantTurn] = [user("hello")]
    assert marked(sent(for_claude(*turns), body)["messages"]) == ["Be brief.", "hello"]
    turns += [calling("read_file", {"path": "a"}), result("A")]
    assert marked(sent(for_claude(*turns), body)["messages"]) == ["Be brief.", "hello", "A"]
    turns += [calling("read_file", {"path": "b"}), result("B")]
    rows = sent(for_claude(*turns), body)["messages"]
    assert marked(rows) == ["Be brief.", "A", "B"]
    assert rows[-1] == {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "B", **MARK}]}
    assert sent(for_claude(*turns), ChatBody(quirks=MARKING))["messages"] == rows, "whatever was encoded before"


def test_a_mark_is_at_the_last_text_of_a_turn() -> None:
    turn = UserTurn(content=(TextBlock(text="see"), ImageBlock(source=PNG)))
    rows = sent(for_claude(turn), ChatBody(quirks=MARKING))["messages"]
    assert rows[1]["content"] == [{"type": "text", "text": "see", **MARK}, PNG_PART]
    only_an_image = UserTurn(content=(ImageBlock(source=PNG),))
    assert marked(sent(for_claude(only_an_image), ChatBody(quirks=MARKING))["messages"]) == ["Be brief."]


def test_other_models_and_servers_get_plain_texts() -> None:
    assert marked(sent(request(user("hello")), ChatBody(quirks=MARKING))["messages"]) == []
    assert marked(sent(for_claude(user("hello")))["messages"]) == []


def test_a_server_that_routes_by_session_is_told_which_it_is() -> None:
    assert sent(for_claude(user("hello"), key="s1"), ChatBody(quirks=MARKING))["session_id"] == "s1"
    assert "session_id" not in sent(for_claude(user("hello"), key="s1"))
    assert "session_id" not in sent(for_claude(user("hello")), ChatBody(quirks=MARKING))

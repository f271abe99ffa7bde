"""What is shown of an ask in plain lines, and what a typed line means."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.clients.plain.answers import Again, ChangeIt, ShowAll, meaning_of
from robota.clients.plain.permission import CHARACTERS_SHOWN, LINES_SHOWN, choices_of, cut, reasons_of, subject_of
from robota.clients.plain.slash_commands import order_in
from robota.clients.plain.talk import answer_to, words_for
from robota.protocol.commands import AskResponse, CondenseContext, RetryNow, SetPermissionMode, SwitchMode
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode

SUGGESTIONS = [
    {"rules": ["Bash(npm test)"], "covers": "exactly this"},
    {"rules": ["Bash(npm test *)"], "covers": "everything that begins like this"},
]
VERDICT: dict[str, Any] = {"reason": "Why.", "rule": None, "parts": [], "suggestions": SUGGESTIONS, "warnings": []}
DIFF = "@@ -1,1 +1,1 @@\n-a\n+b\n@@ -9,1 +9,1 @@\n-c\n+d\n"


def ask(kind: str, text: str | None = None, **fields: Any) -> Message:
    return Message(ts=7, type="ask", ask=kind, text=text, **fields)


def meant(typed: str, hunks: int = 0) -> Any:
    return meaning_of(typed, ask("command", "npm test", verdict=VERDICT), hunks)


@pytest.mark.parametrize("typed", ["y", "Y", "yes", " y "])
def test_a_clear_yes_is_one(typed: str) -> None:
    assert meant(typed) == AskResponse(ask_response="yesButtonClicked", ts=7)


def test_words_go_along_with_a_yes_or_a_no() -> None:
    assert meant("y be quick") == AskResponse(ask_response="yesButtonClicked", ts=7, text="be quick")
    assert meant("n use yarn") == AskResponse(ask_response="noButtonClicked", ts=7, text="use yarn")
    assert meant("use yarn instead") == AskResponse(ask_response="noButtonClicked", ts=7, text="use yarn instead")


@pytest.mark.parametrize(
    ("typed", "rule", "scope"),
    [("1", "Bash(npm test)", "session"), ("2p", "Bash(npm test *)", "project"), ("1u", "Bash(npm test)", "user")],
)
def test_a_number_grants_a_rule_that_was_offered(typed: str, rule: str, scope: str) -> None:
    assert meant(typed) == AskResponse(ask_response="yesButtonClicked", ts=7, grant=(rule,), grant_scope=scope)


@pytest.mark.parametrize("typed", ["h 2", "h2", "h 2, 2"])
def test_some_of_the_changes_can_be_chosen(typed: str) -> None:
    answer = meant(typed, hunks=2)
    assert (answer.ask_response, json.loads(answer.text)) == ("objectResponse", {"hunks": [1]})


@pytest.mark.parametrize("typed", ["", "  ", "yse", "3", "0", "h 3", "h", "1x", "ye", "\x1b[A"])
def test_what_is_no_answer_is_asked_again(typed: str) -> None:
    assert isinstance(meant(typed, hunks=2), Again)


def test_the_other_choices() -> None:
    assert isinstance(meant("e"), ChangeIt) and isinstance(meant("all"), ShowAll) and isinstance(meant("?"), ShowAll)


@given(st.text(max_size=40))
def test_nothing_but_y_or_an_offered_choice_allows_anything(typed: str) -> None:
    meaning = meaning_of(typed, ask("command", "npm test", verdict=VERDICT), 0)
    if isinstance(meaning, AskResponse) and meaning.ask_response != "noButtonClicked":
        assert typed.split()[0].lower() in {"y", "yes", "1", "2", "1s", "2s", "1p", "2p", "1u", "2u"}


def test_n12_a_command_is_shown_whole_with_its_reasons() -> None:
    parts = [{"decision": "allow", "text": "cd x"}, {"decision": "ask", "text": "rm y"}]
    question = ask("command", "cd x &&\nrm y", verdict={**VERDICT, "parts": parts, "warnings": ["U+202E"]})
    assert [line.text.strip() for line in subject_of(question).lines] == ["$ cd x &&", "rm y"]
    assert [line.text.strip() for line in reasons_of(question)] == ["Why.", "allow  cd x", "ask    rm y", "! U+202E"]


def test_n12_of_ten_thousand_lines_the_length_is_told_and_all_can_be_seen() -> None:
    shown = subject_of(ask("command", "\n".join(map(str, range(10_000)))))
    assert len(shown.lines) == 10_000
    *_, last = cut(shown)
    assert f"{10_000 - LINES_SHOWN:,} more lines" in last.text


def test_changes_are_numbered_where_there_is_a_choice() -> None:
    shown = subject_of(ask("tool", json.dumps({"tool": "editedExistingFile", "path": "a", "diff": DIFF})))
    assert shown.hunks == 2
    assert [line.text.strip() for line in shown.lines if "@@" in line.text] == [
        "[1] @@ -1,1 +1,1 @@",
        "[2] @@ -9,1 +9,1 @@",
    ]
    new = subject_of(ask("tool", json.dumps({"tool": "newFileCreated", "path": "a", "diff": DIFF})))
    assert new.hunks == 0


def test_an_ask_without_a_diff_shows_what_it_has() -> None:
    fetch = ask("tool", json.dumps({"tool": "webFetch", "content": "https://example.com"}))
    assert [line.text.strip() for line in subject_of(fetch).lines] == ["https://example.com"]
    assert [line.text.strip() for line in subject_of(ask("tool", "no json")).lines] == ["no json"]


def test_choices_name_what_else_a_rule_lets_through() -> None:
    lines = "\n".join(line.text for line in choices_of(ask("command", "x", verdict=VERDICT), 2, can_change=True))
    assert "Bash(npm test *) (everything that begins like this)" in lines
    assert "e change it first" in lines and "h 1,2" in lines
    bare = choices_of(ask("command", "x"), 0, can_change=False)
    assert len(bare) == 1


QUESTION = ask("followup", json.dumps({"question": "Which?", "suggest": [{"answer": "one"}, {"answer": "two"}]}))


def test_a_question_offers_its_suggestions_by_number() -> None:
    assert words_for(QUESTION) == ["? Which?", "  1 one", "  2 two"]
    for typed, text in (("2", "two"), ("3", "3"), ("neither", "neither")):
        assert answer_to(QUESTION, typed) == AskResponse(ask_response="messageResponse", ts=7, text=text)
    assert answer_to(QUESTION, " ") is None


@pytest.mark.parametrize(
    ("kind", "typed", "response"),
    [
        ("resume_task", "", "yesButtonClicked"),
        ("resume_task", "do less", "messageResponse"),
        ("api_req_failed", "", "yesButtonClicked"),
        ("api_req_failed", "n", "noButtonClicked"),
        ("mistake_limit_reached", "look at the file", "messageResponse"),
        ("auto_approval_max_req_reached", "y", "yesButtonClicked"),
        ("auto_approval_max_req_reached", "", None),
        ("auto_approval_max_req_reached", "maybe so", None),
        ("completion_result", "", None),
        ("completion_result", "n", "messageResponse"),
    ],
)
def test_how_to_go_on(kind: str, typed: str, response: str | None) -> None:
    answer = answer_to(ask(kind), typed)
    assert (answer.ask_response if answer else None) == response


def test_orders() -> None:
    assert order_in("/quit") == "quit" and order_in("/help") == "help" and isinstance(order_in("/retry"), RetryNow)
    assert order_in("/compact") == CondenseContext()
    assert order_in("/compact the tests") == CondenseContext(text="the tests")
    assert order_in("/mode ask") == SwitchMode(text="ask")
    assert order_in("/permission plan") == SetPermissionMode(permission_mode=PermissionMode.PLAN)
    assert "no order /fly" in str(order_in("/fly"))
    assert order_in("look at /etc") is None and order_in("/etc/passwd is odd") is None


def test_several_lines_are_never_a_yes_and_may_say_no_at_length() -> None:
    assert isinstance(meant("y\nrm -rf /"), Again) and isinstance(meant("yes do\nthat"), Again)
    assert meant("n\nuse yarn\nplease") == AskResponse(ask_response="noButtonClicked", ts=7, text="use yarn\nplease")
    assert meant("use\nyarn") == AskResponse(ask_response="noButtonClicked", ts=7, text="use\nyarn")


def test_n12_of_a_very_long_line_the_length_is_told_and_all_can_be_seen() -> None:
    shown = subject_of(ask("command", "x" * 50_000))
    start, told = cut(shown)
    assert len(start.text) == CHARACTERS_SHOWN and "48,006 more characters" in told.text
    assert "x" * 50_000 in shown.lines[0].text


def test_a_call_of_a_server_names_the_server_the_tool_and_each_argument() -> None:
    arguments = json.dumps({"query": "select 1;\nselect 2", "limit": 3, "odd\x1b": None})
    about = {"type": "use_mcp_tool", "serverName": "db", "toolName": "query", "arguments": arguments}
    shown = subject_of(ask("use_mcp_server", json.dumps(about)))
    assert [line.text.strip() for line in shown.lines] == [
        "query of the MCP server db",
        "query: select 1;",
        "select 2",
        "limit: 3",
        "odd‹U+001B›: null",
    ]
    cut_off = subject_of(ask("use_mcp_server", json.dumps({**about, "arguments": '{"a": '})))
    assert [line.text.strip() for line in cut_off.lines][1:] == ['{"a":']


def test_the_changes_of_several_files_cannot_be_chosen_from() -> None:
    diff = f"*** modified: a\n{DIFF}*** created: b\n@@ -0,0 +1,1 @@\n+x\n"
    shown = subject_of(ask("tool", json.dumps({"tool": "appliedDiff", "path": "a, b", "diff": diff})))
    assert shown.hunks == 0 and shown.lines[0].text.strip() == "a, b"


def test_an_order_is_one_line() -> None:
    assert order_in("/tmp is full\nwhat now?") is None

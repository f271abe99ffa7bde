"""What is shown of an ask in plain lines, and what a typed line means."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.clients.answering.approval_line import Again, EditFirst, ShowAll, meaning_of
from robota.clients.answering.question_line import TalkAsk, answer_to, words_for
from robota.clients.answering.yes_or_no import is_clear_yes
from robota.clients.render.approval_lines import (
    CHARACTERS_SHOWN,
    LINES_SHOWN,
    choice_lines,
    cut,
    reason_lines,
    subject_lines,
)
from robota.protocol.asks.answer import (
    AnswerDetails,
    Approve,
    ApproveHunks,
    GrantScope,
    Reject,
    Say,
)
from robota.protocol.asks.ask import (
    ApprovalAsk,
    ApprovalVerdict,
    EditableField,
    JudgedPart,
    OfferedRules,
)
from robota.protocol.asks.seed import ask_of
from robota.protocol.message import Message
from robota.protocol.views import DiffHunk, DiffLine, DiffsView, DiffView, TerminalView

SUGGESTIONS = (
    OfferedRules(rules=("Bash(npm test)",), covers="exactly this command"),
    OfferedRules(rules=("Bash(npm test *)",), covers="all commands that start like this"),
)
VERDICT = ApprovalVerdict(reason="Why.", suggestions=SUGGESTIONS)
DIFF = DiffView(
    path="a",
    added=2,
    removed=2,
    hunks=tuple(
        DiffHunk(
            old_start=at,
            old_count=1,
            new_start=at,
            new_count=1,
            lines=(DiffLine(kind="remove", text="a", old_line=at), DiffLine(kind="add", text="b", new_line=at)),
        )
        for at in (1, 9)
    ),
)


def approval(text: str = "npm test", **fields: Any) -> ApprovalAsk:
    return ApprovalAsk(title="Bash", **{"view": TerminalView(command=text, output=""), "verdict": VERDICT, **fields})


def seed(kind: str, text: str | None = None) -> Any:
    """An ask of an engine that knows only the seed protocol."""
    return ask_of(Message(ts=7, type="ask", ask=kind, text=text))


def shown(asked: ApprovalAsk) -> list[str]:
    return [line.text.strip() for line in subject_lines(asked)]


def answer_for(typed: str, hunks: int = 0) -> Any:
    return meaning_of(typed, approval(choosable_hunks=hunks))


@pytest.mark.parametrize("typed", ["y", "Y", "yes", " y "])
def test_a_clear_yes_is_one(typed: str) -> None:
    assert answer_for(typed) == Approve()


def test_words_go_along_with_a_yes_or_a_no() -> None:
    assert answer_for("y be quick") == Approve(text="be quick")
    assert answer_for("n use yarn") == Reject(text="use yarn")
    assert answer_for("use yarn instead") == Reject(text="use yarn instead")


@pytest.mark.parametrize(
    ("typed", "rule", "scope"),
    [("1", "Bash(npm test)", "session"), ("2p", "Bash(npm test *)", "project"), ("1u", "Bash(npm test)", "user")],
)
def test_a_number_grants_a_rule_that_was_offered(typed: str, rule: str, scope: str) -> None:
    assert answer_for(typed) == Approve(grant=(rule,), grant_scope=GrantScope(scope))


@pytest.mark.parametrize("typed", ["h 2", "h2", "h 2, 2"])
def test_some_of_the_changes_can_be_chosen(typed: str) -> None:
    assert answer_for(typed, hunks=2) == ApproveHunks(hunks=(1,))


@pytest.mark.parametrize("typed", ["", "  ", "yse", "3", "0", "h 3", "h", "1x", "ye", "\x1b[A"])
def test_what_is_no_answer_is_asked_again(typed: str) -> None:
    assert isinstance(answer_for(typed, hunks=2), Again)


def test_the_other_choices() -> None:
    assert (
        isinstance(answer_for("e"), EditFirst)
        and isinstance(answer_for("all"), ShowAll)
        and isinstance(answer_for("?"), ShowAll)
    )


@given(st.text(max_size=40))
def test_nothing_but_y_or_an_offered_choice_allows_anything(typed: str) -> None:
    meaning = meaning_of(typed, approval())
    if isinstance(meaning, AnswerDetails) and not isinstance(meaning, Reject):
        word = typed.split()[0].lower()
        assert is_clear_yes(typed.strip()) or word in {"y", "yes", "1", "2", "1s", "2s", "1p", "2p", "1u", "2u"}


def test_a_command_is_shown_whole_with_its_reasons() -> None:
    parts = (
        JudgedPart(decision="allow", text="cd x", reason=""),
        JudgedPart(decision="ask", text="rm y", reason=""),
    )
    verdict = ApprovalVerdict(reason="Why.", parts=parts, warnings=("U+202E",))
    assert shown(approval("cd x &&\nrm y")) == ["$ cd x &&", "rm y"]
    assert [line.text.strip() for line in reason_lines(verdict)] == ["Why.", "allow  cd x", "ask    rm y", "! U+202E"]


def test_of_ten_thousand_lines_the_length_is_told_and_all_can_be_seen() -> None:
    lines = subject_lines(approval("\n".join(map(str, range(10_000)))))
    assert len(lines) == 10_000
    *_, last = cut(lines)
    assert f"{10_000 - LINES_SHOWN:,} more lines" in last.text


def test_changes_are_numbered_where_there_is_a_choice() -> None:
    assert [line for line in shown(approval(view=DIFF, choosable_hunks=2)) if "@@" in line] == [
        "[1] @@ -1,1 +1,1 @@",
        "[2] @@ -9,1 +9,1 @@",
    ]
    assert not any("[1]" in line for line in shown(approval(view=DIFF)))


def test_an_ask_without_a_diff_shows_what_it_has() -> None:
    assert shown(seed("tool", json.dumps({"tool": "webFetch", "content": "https://example.com"}))) == [
        "https://example.com"
    ]
    assert shown(seed("tool", "no json")) == ["no json"]


def test_choices_name_what_else_a_rule_lets_through() -> None:
    editable = EditableField(name="command", text="x")
    lines = "\n".join(line.text for line in choice_lines(approval(editable=editable, choosable_hunks=2)))
    assert "Bash(npm test *) for this session (all commands that start like this)" in lines
    assert "e edit it first" in lines and "h 1,2" in lines
    assert len(choice_lines(approval(verdict=ApprovalVerdict()))) == 1


QUESTION: TalkAsk = seed(
    "followup", json.dumps({"question": "Which?", "suggest": [{"answer": "one"}, {"answer": "two"}]})
)


def test_a_question_offers_its_suggestions_by_number() -> None:
    assert words_for(QUESTION) == ["? Which?", "  1 one", "  2 two", "  Type a number, or an answer of your own."]
    for typed, text in (("2", "two"), ("3", "3"), ("neither", "neither")):
        assert answer_to(QUESTION, typed) == Say(text=text)
    assert answer_to(QUESTION, " ") is None


@pytest.mark.parametrize(
    ("kind", "typed", "response"),
    [
        ("resume_task", "", Approve),
        ("resume_task", "do less", Say),
        ("api_req_failed", "", Approve),
        ("api_req_failed", "n", Reject),
        ("mistake_limit_reached", "look at the file", Say),
        ("auto_approval_max_req_reached", "y", Approve),
        ("auto_approval_max_req_reached", "", None),
        ("auto_approval_max_req_reached", "maybe so", None),
        ("completion_result", "", None),
        ("completion_result", "n", Say),
    ],
)
def test_how_to_go_on(kind: str, typed: str, response: type | None) -> None:
    answer = answer_to(seed(kind), typed)
    assert (type(answer) if answer else None) == response


def test_several_lines_are_never_a_yes_and_may_say_no_at_length() -> None:
    assert isinstance(answer_for("y\nrm -rf /"), Again) and isinstance(answer_for("yes do\nthat"), Again)
    assert answer_for("n\nuse yarn\nplease") == Reject(text="use yarn\nplease")
    assert answer_for("use\nyarn") == Reject(text="use\nyarn")


def test_of_a_very_long_line_the_length_is_told_and_all_can_be_seen() -> None:
    lines = subject_lines(approval("x" * 50_000))
    start, told = cut(lines)
    assert len(start.text) == CHARACTERS_SHOWN and "48,006 more characters" in told.text
    assert "x" * 50_000 in lines[0].text


def test_a_call_of_a_server_names_the_server_the_tool_and_each_argument() -> None:
    arguments = json.dumps({"query": "select 1;\nselect 2", "limit": 3, "odd\x1b": None})
    about = {"type": "use_mcp_tool", "serverName": "db", "toolName": "query", "arguments": arguments}
    assert shown(seed("use_mcp_server", json.dumps(about))) == [
        "query of the MCP server db",
        "query: select 1;",
        "select 2",
        "limit: 3",
        "odd‹U+001B›: null",
    ]
    cut_off = seed("use_mcp_server", json.dumps({**about, "arguments": '{"a": '}))
    assert shown(cut_off)[1:] == ['arguments: {"a":']


def test_the_changes_of_several_files_cannot_be_chosen_from() -> None:
    lines = shown(approval(view=DiffsView(files=(DIFF, msgspec.structs.replace(DIFF, path="b", is_new=True)))))
    assert lines[0] == "a" and "b (new file)" in lines and not any("[1]" in line for line in lines)

"""Calls written as XML: found in a stream however it is cut, and never confused by what a value holds."""

from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import ToolCall
from robota.engine.model.reply import CallClosedPiece, CallOpenedPiece, ReplyPiece, TextPiece
from robota.engine.model.xml_calls import XmlCallFormat, XmlCallParser, XmlTool
from robota.protocol.conversation import AssistantTurn, TextBlock, ToolUseBlock
from robota.providers.chunks import ToolSpec
from robota.tools.registry import builtin_tools, schema_of

MAYBE_NUMBER = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
TOOLS: dict[str, dict[str, Any]] = {
    "read_file": {"properties": {"path": {"type": "string"}, "limit": MAYBE_NUMBER}},
    "write_to_file": {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
    "ask": {"properties": {"options": {"type": "array"}}},
}


def parse(text: str, cuts: list[int] | None = None) -> list[ReplyPiece]:
    tools = {name: XmlTool(schema=schema) for name, schema in TOOLS.items()}
    parser = XmlCallParser(tools, (f"c{n}" for n in count(1)))
    places = [0, *sorted(cuts or []), len(text)]
    pieces: list[ReplyPiece] = []
    for start, end in pairwise(places):
        pieces.extend(parser.feed(text[start:end]))
    return [*pieces, *parser.finish()]


def calls(pieces: list[ReplyPiece]) -> list[ToolCall]:
    return [piece.call for piece in pieces if isinstance(piece, CallClosedPiece)]


def plain(pieces: list[ReplyPiece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))


def test_text_and_call() -> None:
    pieces = parse("Let me see.\n<read_file>\n<path>src/a.py</path>\n</read_file>\nThen more.")
    assert plain(pieces) == "Let me see.\n\nThen more."
    (call,) = calls(pieces)
    assert (call.name, call.input, call.problem) == ("read_file", {"path": "src/a.py"}, None)


def test_several_calls_have_ids_of_their_own() -> None:
    first, second = calls(parse("<read_file><path>a</path></read_file><read_file><path>b</path></read_file>"))
    assert first.id != second.id and [first.input, second.input] == [{"path": "a"}, {"path": "b"}]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n\n",
        "a < b && c > d",
        "<path>not a parameter</path>",
        "</content> inside a text",
        "<write_to_file><content>x</content>",
        "</write_to_file>",
        "</content",
        "  indented\n\ttabs\n",
        "&lt;kept as it is&gt;",
        "ends with <",
    ],
)
def test_a_value_may_hold_anything(content: str) -> None:
    text = f"<write_to_file>\n<path>a.txt</path>\n<content>\n{content}\n</content>\n</write_to_file>"
    (call,) = calls(parse(text))
    assert call.input == {"path": "a.txt", "content": content}


def test_structures_are_json_and_numbers_stay_readable() -> None:
    (call,) = calls(parse('<ask><options>["a", {"b": 1}]</options></ask>'))
    assert call.input == {"options": ["a", {"b": 1}]}
    (call,) = calls(parse("<read_file><path>5</path><limit>20</limit></read_file>"))
    assert call.input["path"] == "5" and int(call.input["limit"]) == 20


@pytest.mark.parametrize(
    "text", ["<read_file>", "<read_file><path>a", "<read_file><path>a</path>", "<read_file><path>a</path></read_fil"]
)
def test_a_call_that_is_cut_off_is_reported_and_not_usable(text: str) -> None:
    (call,) = calls(parse(f"Hm. {text}"))
    assert call.problem is not None and "cut off" in call.problem


@pytest.mark.parametrize("text", ["a < b", "<b>bold</b>", "<read_fil", "x <", "</read_file>", "<read_file >", "<>"])
def test_what_is_no_call_is_text(text: str) -> None:
    pieces = parse(text)
    assert plain(pieces) == text and not calls(pieces)


TAGS = [f"<{close}{name}>" for name in ("read_file", "path", "write_to_file", "content") for close in ("", "/")]
fragments = st.sampled_from([*TAGS, "a", " ", "\n", "<", "/", ">", "text", "<x>", "ä€"])


@given(st.lists(fragments, max_size=20).map("".join), st.data())
def test_cutting_the_stream_anywhere_changes_nothing(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    whole, cut = parse(text), parse(text, cuts)
    assert calls(cut) == calls(whole)
    assert plain(cut) == plain(whole)
    opened = [piece for piece in cut if isinstance(piece, CallOpenedPiece)]
    assert len(opened) == len(calls(cut))


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="<")))
def test_what_we_write_for_the_model_we_can_read(content: str, words: str) -> None:
    use = ToolUseBlock(id="c1", name="write_to_file", input={"path": "a.txt", "content": f"x{content}x"})
    turn = XmlCallFormat().outgoing(AssistantTurn(content=(TextBlock(text=words), use)))
    (block,) = turn.content
    assert isinstance(block, TextBlock)
    (call,) = calls(parse(block.text))
    ambiguous = "</content>" in content
    assert ambiguous or call.input == use.input


@pytest.mark.parametrize("path", ["\n  out.txt\n", " out.txt ", "\n\tout.txt\n\t"])
def test_blanks_around_a_path_are_layout(path: str) -> None:
    """They are not part of the file name."""
    text = f"<write_to_file>\n  <path>{path}</path>\n  <content>  kept \n</content>\n</write_to_file>"
    (call,) = calls(parse(text))
    assert call.input == {"path": "out.txt", "content": "  kept "}


def test_the_older_form_with_tags_around_the_parameters_is_read() -> None:
    """It is not reported as cut off."""
    text = "<read_file>\n<args>\n  <file>\n    <path>src/a.py</path>\n  </file>\n</args>\n</read_file>\nnext"
    pieces = parse(text)
    (call,) = calls(pieces)
    assert (call.input, call.problem) == ({"path": "src/a.py"}, None)
    assert plain(pieces) == "\nnext"


def test_several_files_in_the_older_form_are_asked_for_one_by_one() -> None:
    files = "".join(f"<file><path>{name}</path></file>" for name in "ab")
    (call,) = calls(parse(f"<read_file><args>{files}</args></read_file>"))
    assert call.problem is not None and "twice" in call.problem


def test_values_that_are_no_plain_text_are_shown_in_their_form() -> None:
    """What a model without function calling is told about a parameter is all that it knows of its shape."""
    tools = {tool.name: tool for tool in builtin_tools()}
    specs = tuple(
        ToolSpec(name=name, description=tools[name].description(), schema=schema_of(tools[name]))
        for name in ("ask_followup_question", "execute_command", "background_process")
    )
    told = XmlCallFormat().instructions(specs)
    assert '- follow_up (required, as JSON: [{"text":"text","mode":"text"}]):' in told
    assert '- opened (optional, as JSON: ["text"]):' in told
    assert "- action (required, one of forward, list, read, send, start, stop):" in told

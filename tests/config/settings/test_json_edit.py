"""A member of a JSON file is changed, and every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.config.settings.json_edit import with_member, without_member
from robota.config.settings.json_text import NotAnObject

NAMES = st.text(max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
LAYOUTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(OBJECTS, LAYOUTS, NAMES, NAMES, VALUES, st.booleans())
def test_what_is_written_is_what_is_read_and_the_rest_stays(
    before: dict[str, Any], indent: Any, section: str, name: str, value: Any, crlf: bool
) -> None:
    if not isinstance(before.get(section, {}), dict):
        before = {**before, section: {}}
    text = json.dumps(before, indent=indent, ensure_ascii=False)
    text = text.replace("\n", "\r\n") if crlf else text
    changed = with_member(text, (section, name), value)
    assert json.loads(changed) == {**before, section: {**before.get(section, {}), name: value}}
    if name not in before.get(section, {}):
        assert _is_inside(text, changed)
    again = without_member(changed, (section, name))
    kept = {key: each for key, each in before.get(section, {}).items() if key != name}
    assert json.loads(again) == {**before, section: kept}


def _is_inside(text: str, changed: str) -> bool:
    """Whether the change is one piece put into the text; only blanks within an empty object may go."""
    begin = next((place for place in range(len(text)) if text[place] != changed[place]), len(text))
    return changed.endswith(text[begin:].lstrip())


def test_order_blanks_and_numbers_stay_as_they_were_written() -> None:
    text = '{ "b" : 1.50,\n\t"mcpServers":\t{"x" :{"command":"c"} } ,\n\t"a":[ 1,2 ]\n}\n'
    changed = with_member(text, ("mcpServers", "y"), {"command": "d"})
    assert changed == text.replace('"c"} }', '"c"}, "y": {\n\t\t\t"command": "d"\n\t\t} }')
    assert without_member(changed, ("mcpServers", "y")) == text


def test_an_empty_file_becomes_an_object() -> None:
    assert json.loads(with_member(" \n", ("a", "b"), 1)) == {"a": {"b": 1}}


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1,}', '{"mcpServers": 3}', "// note\n{}"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(NotAnObject):
        with_member(text, ("mcpServers", "y"), {})


def test_a_name_that_stands_twice_is_gone_after_its_removal() -> None:
    assert json.loads(without_member('{"a": 1, "b": 2, "a": 3}', ("a",))) == {"b": 2}

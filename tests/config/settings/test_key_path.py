"""The names of settings, and the lines where they stand."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.config.errors import ConfigError
from robota.config.settings.json_text import lines_of, read_object
from robota.config.settings.key_path import join_key, split_key
from robota.secrets.named_values import MASK, mask_settings

PARTS = st.lists(st.text(min_size=1), min_size=1, max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(PARTS)
def test_a_name_can_be_written_and_read_again(parts: list[str]) -> None:
    assert split_key(join_key(parts)) == tuple(parts)


def test_names_as_people_write_them() -> None:
    assert split_key("permissions.deny") == ("permissions", "deny")
    assert split_key('models."gpt-4.1".price') == ("models", "gpt-4.1", "price")
    assert join_key(("permissions", "deny", 1)) == "permissions.deny[1]"


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", '"a"b', '"a', 'a"b'])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ConfigError):
        split_key(text)


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4))
def test_every_key_is_found_on_its_line(value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    assert read_object(text)[0] == value
    for key, number in zip(value, lines_of(text, [[key] for key in value]), strict=True):
        line = text.split("\n")[number - 1]
        assert line.startswith(f" {json.dumps(key, ensure_ascii=False)}:")


def test_the_right_one_of_two_keys_with_one_name() -> None:
    text = '{"a": {"type": 1},\n"providers": {"type": {\n"x": 2,\n"type": 3}}}'
    assert lines_of(text, [["providers", "type", "type"], ["providers", "type", "gone"], []]) == [4, 2, 1]


def test_secrets_are_masked_and_references_are_not() -> None:
    shown = mask_settings(
        {
            "apiKey": "sk-1",
            "other": {"apiKey": "$ENV:KEY"},
            "headers": {"Authorization": "Bearer x", "x-title": "t"},
            "maxOutputTokens": 7,
            "args": ["a", "b"],
            "index": "https://me:pw@host/simple",
        }
    )
    assert shown["apiKey"] == MASK and shown["other"]["apiKey"] == "$ENV:KEY"
    assert shown["headers"] == {"Authorization": MASK, "x-title": "t"}
    assert shown["maxOutputTokens"] == 7 and shown["args"] == ["a", "b"]
    assert "pw" not in shown["index"] and "host" in shown["index"]

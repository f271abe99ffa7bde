"""Entries for MCP servers: variables, types, and invalid ones that do not affect the others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.extensions.mcp.definitions import HttpServer, StdioServer, expand_variables, read_server

ENV = {"KEY": "abc", "EMPTY": "", "ODD": "${KEY}"}
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("text", "value", "unset"),
    [
        ("${KEY}", "abc", ()),
        ("a-${KEY}-b", "a-abc-b", ()),
        ("${NONE}", "${NONE}", ("NONE",)),
        ("${NONE:-x y}", "x y", ()),
        ("${NONE:-}", "", ()),
        ("${EMPTY:-x}", "x", ()),
        ("${EMPTY}", "", ()),
        ("${ODD}", "${KEY}", ()),
        ("$KEY ${KEY", "$KEY ${KEY", ()),
    ],
)
def test_variables_are_expanded_once(text: str, value: str, unset: tuple[str, ...]) -> None:
    assert expand_variables(text, ENV) == (value, unset)


@given(st.text())
def test_text_without_variables_stays_as_it_is(text: str) -> None:
    if "${" not in text:
        assert expand_variables(text, {}) == (text, ())


def test_variables_are_expanded_in_every_field() -> None:
    entry = {"command": "${KEY}", "args": ["${KEY}"], "env": {"A": "${KEY}"}, "timeout": 1500}
    server, notices = read_server("a", entry, "file", ENV)
    assert isinstance(server, StdioServer) and notices == ()
    assert (server.command, server.args, server.env, server.call_timeout_s) == ("abc", ("abc",), {"A": "abc"}, 1.5)
    assert server.written == entry
    web, notices = read_server("b", {"type": "http", "url": "https://${KEY}", "headers": {"A": "${NO}"}}, "file", ENV)
    assert isinstance(web, HttpServer) and web.url == "https://abc"
    assert notices == ("MCP server b in file: ${NO} is not set, and stays as it is written.",)


@pytest.mark.parametrize("name", ["", "_a", "a_", "a__b", "a b", "a.b", "a/b", "é", "a\n", "x" * 33, "a\x1b"])
def test_a_name_that_could_confuse_rules_is_refused(name: str) -> None:
    server, notices = read_server(name, {"command": "x"}, "file", {})
    assert server is None and len(notices) == 1 and notices[0].isprintable()


@pytest.mark.parametrize("name", ["a", "A-1", "my_server", "x" * 32])
def test_ordinary_server_names_are_valid(name: str) -> None:
    assert read_server(name, {"command": "x"}, "file", {})[0] is not None


@pytest.mark.parametrize(
    "entry",
    [{}, {"type": "stdio"}, {"type": "http"}, {"type": "http", "url": "file:///x"}, {"command": "x", "timeout": 0}],
)
def test_an_incomplete_entry_is_invalid(entry: dict[str, Any]) -> None:
    server, notices = read_server("a", entry, "file", {})
    assert server is None and "the other servers work" in notices[0]


@given(anything)
def test_no_entry_raises(entry: Any) -> None:
    server, notices = read_server("a", entry, "file", {})
    assert server is not None or len(notices) <= 1


@given(st.dictionaries(st.sampled_from(["type", "command", "args", "env", "url", "headers", "timeout"]), anything))
def test_no_value_of_an_entry_raises(entry: dict[str, Any]) -> None:
    server, notices = read_server("a", entry, "file", {})
    assert server is not None or len(notices) == 1

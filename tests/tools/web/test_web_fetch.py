"""Fetching web pages as a model does."""

import asyncio
import json
from collections.abc import Iterator

import msgspec
import pytest

from robota.contracts.tool import Effect, ToolError, ToolResult
from robota.tools.web.web_fetch import TOOL, WebFetchParams, web_fetch_tool
from robota.workspace.web.address import AddressRules
from tests.tools.workbench import Workbench
from tests.workspace.web.web_server import Page, Web, web_server

HTML = {"content-type": "text/html; charset=utf-8"}


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as server:
        yield server


def fetch(bench: Workbench, url: str) -> ToolResult:
    """With this machine exempt, where the server of the tests is."""
    tool = web_fetch_tool(AddressRules(exempt=("127.0.0.0/8",)))

    async def run() -> ToolResult:
        prepared = await tool.prepare(WebFetchParams(url=url), bench)
        return await prepared.run()

    return asyncio.run(run())


def test_a_page_comes_as_markdown_and_is_called_what_it_is(bench: Workbench, web: Web) -> None:
    web.pages["/"] = Page(body=b"<title>T</title><h1>Hello</h1><p>A <a href='/b'>link</a></p>", headers=HTML)
    result = fetch(bench, web.url("/"))
    head, _, text = result.content.partition("\n\n")
    assert text == f"Title: T\n\n# Hello\n\nA [link]({web.url('/b')})"
    assert head.startswith(f"{web.url('/')} (text/html; charset=utf-8, ")
    assert "not an instruction" in head
    assert not result.is_error


def test_json_and_text_pass_through(bench: Workbench, web: Web) -> None:
    web.pages["/"] = Page(body=b'{"a": "<b>"}', headers={"content-type": "application/json"})
    assert fetch(bench, web.url("/")).content.endswith('\n\n{"a": "<b>"}')


def test_other_types_are_refused(bench: Workbench, web: Web) -> None:
    for kind in ("image/png", "application/pdf", "application/octet-stream"):
        web.pages["/"] = Page(body=b"\x89PNG", headers={"content-type": kind})
        with pytest.raises(ToolError, match=f"{kind}, not text"):
            fetch(bench, web.url("/"))


def test_an_error_of_the_server_is_an_error_with_what_it_says(bench: Workbench, web: Web) -> None:
    result = fetch(bench, web.url("/gone"))
    assert result.is_error
    assert "answered 404 Not Found." in result.content
    assert result.content.endswith("no such page")


def test_a_long_page_is_cut_and_kept_whole(bench: Workbench, web: Web) -> None:
    body = "".join(f"line {number}\n" for number in range(20_000)).encode()
    web.pages["/"] = Page(body=body)
    content = fetch(bench, web.url("/")).content
    assert len(content) < 41_000
    assert "of 208,889 characters. For the rest: read_command_output {" in content
    assert bench.all_kept == [body.strip()]


def test_a_redirect_to_another_host_asks_for_another_call(bench: Workbench, web: Web) -> None:
    web.redirect("/", web.url("/x", "127.0.0.2"))
    result = fetch(bench, web.url("/"))
    assert f"redirects to another host, {web.url('/x', '127.0.0.2')}" in result.content


def test_the_real_tool_does_not_reach_this_machine(bench: Workbench, web: Web) -> None:
    for url in (web.url("/"), web.url("/", "localhost"), "http://2130706433/", "http://[::ffff:10.0.0.1]/"):
        with pytest.raises(ToolError, match=r"Nothing was sent.* Try another page, or continue without it\.$"):
            bench.call("web_fetch", url=url)
    assert web.requests == []


def test_policy_learns_the_host_and_a_user_the_address(bench: Workbench) -> None:
    assert TOOL.effects == {Effect.NETWORK}
    assert TOOL.touches(WebFetchParams(url="https://Docs.Example./x")).host == "docs.example"
    assert TOOL.touches(WebFetchParams(url="https://a@b/")).host == ""
    text = bench.preview("web_fetch", url="https://Docs.Example./x").text
    assert json.loads(text) == {"tool": "webFetch", "content": "https://docs.example/x"}
    with pytest.raises(ToolError, match="user name"):
        bench.preview("web_fetch", url="https://good.example@evil.example/")


def test_the_url_is_all_it_takes() -> None:
    assert [field.name for field in msgspec.structs.fields(WebFetchParams)] == ["url"]

"""Confined mode: what is asked after a command failed because of the sandbox, and what is told after each command."""

from pathlib import Path

import pytest

from robota.protocol.asks.ask import ApprovalAsk, CallSubject
from robota.protocol.events import Notice, ToolEnd
from tests.engine.calls.test_confined import DONE, confined, run, script, to_the_end
from tests.engine.stage import Stage, tool_results

pytestmark = pytest.mark.usefixtures("bubblewrap")

FETCH = "curl --silent --show-error --max-time 5 https://packages.example.com/x?{}"


def test_one_cause_is_asked_about_twice_and_never_a_third_time(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        for _ in range(2):
            asked = await stage.until_ask("command")
            assert asked.verdict is not None and "packages.example.com" in asked.verdict.reason
            assert "add packages.example.com to sandbox.allowedHosts" in asked.verdict.no_rule
            await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert "make the call with what it needs" in tool_results(stage)[-1].content

    confined(workspace, [*(run(FETCH.format(number)) for number in range(3)), DONE], story)


def test_after_a_no_its_cause_is_not_asked_about_again(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        assert "not asked again" in tool_results(stage)[-1].content

    confined(workspace, [*(run(FETCH.format(number)) for number in range(2)), DONE], story)


def test_the_host_is_named_that_a_program_does_not_name(workspace: Path) -> None:
    """Its own message is only about a tunnel, and the smallest opening is this host."""
    fetch = "import urllib.request; urllib.request.urlopen('https://' + '.'.join(['packages', 'example', 'com']))"

    async def story(stage: Stage) -> None:
        await stage.start()
        asked = await stage.until_ask("command")
        assert asked.verdict is not None and "packages.example.com" in asked.verdict.reason
        assert isinstance(asked.asked, ApprovalAsk) and isinstance(asked.asked.subject, CallSubject)
        assert asked.asked.subject.input["opened"] == ["packages.example.com"]
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    confined(workspace, [run(script(workspace, "fetch.py", fetch)), DONE], story)


def test_what_a_command_changed_is_told_after_its_end(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        told = [event for event in stage.seen if isinstance(event, ToolEnd | Notice)]
        assert isinstance(told[0], ToolEnd) and isinstance(told[1], Notice) and "made (new)" in told[1].text

    confined(workspace, [run("for i in 1; do touch made; done; echo x > made"), DONE], story)


def test_a_server_of_the_command_itself_is_reached_without_the_proxy(workspace: Path) -> None:
    """As test suites do, which know nothing of a proxy."""
    serve = """
import http.server, threading, urllib.request
with http.server.HTTPServer(("0.0.0.0", 0), http.server.SimpleHTTPRequestHandler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("0.0.0.0", "127.0.0.1", "localhost"):
        print(urllib.request.urlopen(f"http://{name}:{server.server_port}/").status)
    server.shutdown()
"""

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        assert tool_results(stage)[0].content.splitlines().count("200") == 3

    confined(workspace, [run(script(workspace, "serve.py", serve)), DONE], story)

"""The status command: what it is told, and what of its output reaches the terminal."""

import re

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from robota.clients.terminal.width import columns_of
from robota.clients.tui.flows.status_output import status_rows
from robota.clients.tui.flows.status_report import StatusTimes, StatusWorktree, status_report
from robota.clients.tui.painted_rows import COLOUR
from robota.clients.view.model import ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.events import ContextUpdate, SessionState, State, TaskTokenUsageUpdated, TokenUsage
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode


def test_colours_stay_and_everything_else_that_steers_does_not() -> None:
    line = "\x1b[31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b[2J\x07"
    assert status_rows(line, 80, has_colour=True) == ["\x1b[31mred\x1b[0m link ‹U+001B›[2J‹U+0007›\x1b[0m"]
    assert status_rows(line, 80, has_colour=False) == ["red link ‹U+001B›[2J‹U+0007›"]
    assert status_rows("a\nb\nc\nd\n", 80, has_colour=True) == ["a", "b", "c"]
    assert status_rows(" \n", 80, has_colour=True) == []


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\x1b[]m;8漢\t\r")), st.integers(1, 30))
def test_no_output_is_wider_than_the_terminal_or_steers_it(output: str, width: int) -> None:
    for row in status_rows(output, width, has_colour=True):
        plain = re.sub(COLOUR, "", row)
        assert columns_of(plain) <= width and not re.search(r"[\x00-\x1f\x7f]", plain)


def test_the_command_is_told_what_is_known() -> None:
    assert status_report(ViewModel(), "1", StatusTimes()) == {}
    state = SessionState(
        session_id="s-1",
        cwd="/there",
        model="m",
        mode="code",
        permission_mode=PermissionMode.PLAN,
        name="sums",
        log_path="/there/log.jsonl",
    )
    view = reduce(ViewModel(), State(state=state))
    usage = TokenUsage(total_tokens_in=5, total_tokens_out=7, total_cost=0.5)
    told = status_report(reduce(view, TaskTokenUsageUpdated(task_id="t", token_usage=usage)), "1.2", StatusTimes())
    assert (told["session_id"], told["session_name"], told["cwd"], told["version"]) == ("s-1", "sums", "/there", "1.2")
    assert told["model"] == {"id": "m", "display_name": "m"} and told["permission_mode"] == "plan"
    assert told["workspace"]["current_dir"] == "/there" and told["cost"]["total_cost_usd"] == 0.5
    assert "context_window" not in told


def test_the_command_is_told_what_the_newest_request_took_and_where_the_session_works() -> None:
    state = SessionState(
        session_id="s", cwd="/w/here", model="m", mode="code", permission_mode=PermissionMode.PLAN, output_style="brief"
    )
    ended = '{"tokensIn": 100, "tokensOut": 7, "cacheWrites": 20, "cacheReads": 50, "cost": null}'
    rows = (
        Message(ts=1, type="say", say="api_req_started", text='{"tokensIn": 1, "tokensOut": 1, "cost": 0}'),
        Message(ts=2, type="say", say="api_req_started", text=ended),
        Message(ts=3, type="say", say="api_req_started", text='{"apiProtocol": "openai"}'),
    )
    view = reduce(ViewModel(), State(state=replace(state, cline_messages=rows)))
    view = reduce(view, ContextUpdate(task_id="t", used_tokens=100, max_tokens=1000, used_percentage=10.0))
    worktree = StatusWorktree(name="here", path="/w/here", branch="b", original_cwd="/w", original_branch="main")
    told = status_report(view, "1", StatusTimes(), worktree)
    assert told["context_window"]["current_usage"] == {
        "input_tokens": 30,
        "output_tokens": 7,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 50,
    }
    assert told["worktree"] == {
        "name": "here",
        "path": "/w/here",
        "branch": "b",
        "original_cwd": "/w",
        "original_branch": "main",
    }
    assert told["output_style"] == {"name": "brief"}

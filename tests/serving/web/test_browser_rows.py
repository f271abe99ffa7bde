"""Rows and asks of every kind, drawn by the page's own parts: what is said, and which buttons there are."""

import json
from typing import TYPE_CHECKING, Any

from robota.clients.web.page_rows import page_row
from robota.protocol.asks.buttons import BUTTONS, controls_at
from robota.protocol.asks.kinds import KNOWN_ASKS
from robota.protocol.codec import encode
from robota.protocol.message import Message
from tests.cli.scripts import script
from tests.harness.browser import needs_chromium, tab
from tests.harness.cli import Robota
from tests.harness.web_page import web_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium
# What each kind of row must show; those of the seed protocol, also the ones that Robota itself does not write.
SAID: tuple[tuple[dict[str, Any], str], ...] = (
    ({"say": "text", "text": "An **answer**"}, "An answer"),
    ({"say": "reasoning", "text": "Some thoughts"}, "Thought"),
    ({"say": "completion_result", "text": "The result"}, "The result"),
    ({"say": "subtask_result", "text": "Of a subtask"}, "Of a subtask"),
    ({"say": "user_feedback", "text": "My words"}, "My words"),
    ({"say": "user_feedback_diff", "text": '{"path": "a.py", "diff": "+b"}'}, "You changed a.py"),
    ({"say": "command_output", "text": "some output"}, "some output"),
    ({"say": "error", "text": "MODEL_NO_ASSISTANT_MESSAGES"}, "The model returned an empty answer."),
    ({"say": "diff_error", "text": "It did not fit"}, "It did not fit"),
    ({"say": "rooignore_error", "text": "secret.txt"}, "secret.txt"),
    ({"say": "condense_context_error", "text": "Not now"}, "Not now"),
    ({"say": "api_req_started", "text": '{"tokensIn": 1234, "cost": 0.5}'}, "1,234"),
    ({"say": "api_req_deleted", "text": '{"tokensIn": 4321, "cost": 0.5}'}, "4,321"),
    ({"say": "api_req_retried"}, "Retried"),
    ({"say": "api_req_retry_delayed", "text": "<status>429</status>\n<retry_timer>9</retry_timer>"}, "429"),
    ({"say": "api_req_rate_limit_wait", "text": '{"seconds": 7}'}, "waits 7 s"),
    ({"say": "shell_integration_warning", "text": "plain"}, "Shell"),
    ({"say": "mcp_server_request_started", "text": '{"serverName": "s", "toolName": "t"}'}, "s: t"),
    ({"say": "mcp_server_response", "text": "It answered"}, "It answered"),
    ({"say": "checkpoint_saved", "text": "abc123"}, "abc123"),
    (
        {
            "say": "condense_context",
            "context_condense": {"prevContextTokens": 9000, "newContextTokens": 100, "summary": "In short"},
        },
        "9,000 tokens and has 100 now",
    ),
    ({"say": "sliding_window_truncation", "context_truncation": {"messagesRemoved": 4}}, "4 messages"),
    ({"say": "user_edit_todos", "text": "{}"}, "You changed the plan"),
    ({"say": "too_many_tools_warning", "text": '{"toolCount": 99, "serverCount": 3}'}, "99 tools of 3"),
    ({"say": "tool", "text": "read"}, "read"),
    ({"say": "background_output", "text": "left unread"}, "left unread"),
    ({"say": "kind_of_tomorrow", "text": "still read"}, "kind of tomorrow"),
)
SAYS = tuple((Message(ts=ts, type="say", **row), shown) for ts, (row, shown) in enumerate(SAID, start=1))
DRAW = """
async ([file, name, all]) => {
    const parts = await import(`/site/js/${file}`);
    const { h, render } = await import("/site/js/ui.js");
    return all.map((given) => {
        const place = document.createElement("div");
        document.body.append(place);
        render(h(parts[name], given), place);
        const read = (each) => [each.innerText, each.disabled];
        const drawn = { text: place.innerText, buttons: [...place.querySelectorAll(".buttons button")].map(read) };
        place.remove();
        return drawn;
    });
}
"""


def test_every_kind_of_row_is_shown_in_words(robota: Robota, browser: "Browser") -> None:
    script(robota, {"text": "Hello."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        drawn = _drawn(page, "rows.js", "Item", [{"row": _as_data(row)} for row, _ in SAYS])
    missing = {
        row.say: each["text"] for (row, shown), each in zip(SAYS, drawn, strict=True) if shown not in each["text"]
    }
    assert missing == {}


def test_every_ask_has_the_buttons_of_the_protocol(robota: Robota, browser: "Browser") -> None:
    """Also while it is written; a question has its suggestions instead of a button."""
    script(robota, {"text": "Hello."})
    asks = [
        Message(ts=1, type="ask", ask=ask, text="words", partial=partial)
        for ask in sorted(KNOWN_ASKS)
        for partial in (None, True)
    ]
    with web_page(robota) as server, tab(browser, server.link) as page:
        drawn = _drawn(page, "ask-card.js", "AskCard", [{"row": _as_data(ask), "more": 0, "words": ""} for ask in asks])
    for ask, each in zip(asks, drawn, strict=True):
        controls = controls_at(ask)
        primary, secondary = BUTTONS[ask.ask or ""]
        labels = [button.text for button in (secondary, primary) if button and ask.ask != "followup"]
        assert each["buttons"] == [[label, not controls.are_enabled] for label in labels], ask
        assert each["text"].strip() != ""


def _drawn(page: "Page", file: str, name: str, given: list[Any]) -> list[Any]:
    page.locator(".sidebar").wait_for()
    drawn: list[Any] = page.evaluate(DRAW, [file, name, given])
    return drawn


def _as_data(row: Message) -> Any:
    return json.loads(encode(page_row(row)))

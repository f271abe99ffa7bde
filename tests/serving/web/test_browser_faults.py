"""What goes wrong between a page and its server, and text that attacks the page."""

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robota.clients.web.page_rows import page_row
from robota.protocol.asks.kinds import KNOWN_ASKS
from robota.protocol.codec import encode
from robota.protocol.message import Message
from robota.protocol.state import detect_agent_state
from tests.cli.scripts import call, script
from tests.harness.browser import needs_chromium, start_task, tab, until_asked, until_state
from tests.harness.cli import Robota
from tests.harness.web_page import web_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = needs_chromium
WRITE = {"calls": [call("write_to_file", path="a.txt", content="a\n")]}
ATTACKS = (
    "<img src=x onerror=window.hit=1><script>window.hit=1</script>",
    "[click](javascript:window.hit=1) [data](data:text/html,<script>window.hit=1</script>)",
    "![pixel](http://127.0.0.1:9/pixel.png)",
    "</div></main></body><iframe src='javascript:window.hit=1'>",
    "<svg/onload=window.hit=1> <a href='java\tscript:window.hit=1'>x</a>",
    "`</code><script>window.hit=1</script>`",
    "```html\n</code></pre><script>window.hit=1</script>\n```",
    "\x1b]0;owned\x07\x1b[2J \u202ereversed\u202c \u2066isolated\u2069",
    '__proto__ constructor {"__proto__": {"hit": 1}}',
    "${window.hit=1} {{window.hit=1}} `${window.hit=1}`",
)


def test_a_page_goes_on_after_the_server_was_killed_and_started_again(robota: Robota, browser: "Browser") -> None:
    script(robota, WRITE, {"text": "Done."})
    with web_page(robota) as first:
        port = str(first.port)
    with web_page(robota, "--port", port) as server, tab(browser, server.link) as page:
        session_id = start_task(page, "write a file")
        until_asked(page, "tool")
        server.process.kill()
        page.locator(".connection.lost").wait_for()
        script(robota, {"text": "Done."})
        with web_page(robota, "--port", port):
            page.get_by_role("button", name="Resume").click()
            until_asked(page, "resume_task").get_by_role("button", name="Resume").click()
            card = until_asked(page, "tool")
            assert session_id in page.url
            card.get_by_role("button", name="Approve").click()
            until_state(page, "idle")
            assert page.locator(".connection").count() == 0
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_the_first_of_two_tabs_wins_and_the_other_follows(robota: Robota, browser: "Browser") -> None:
    script(robota, WRITE, {"text": "Done."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "write a file")
        until_asked(page, "tool")
        other = page.context.new_page()
        other.goto(page.url)
        card = until_asked(other, "tool")

        def answer_first(route: "Route") -> None:
            page.get_by_role("button", name="Approve").click()
            until_state(page, "idle")
            route.continue_()

        other.route("**/commands", answer_first)
        card.get_by_role("button", name="Reject").click()
        other.locator(".toast").get_by_text("already").wait_for()
        until_state(other, "idle")
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_hostile_text_is_shown_and_does_nothing(robota: Robota, browser: "Browser") -> None:
    text = "\n\n".join(ATTACKS)
    (robota.workspace / "hostile.txt").write_text(text.replace("\x1b", ""))
    question = call("ask_followup_question", question=text, follow_up=[{"text": each} for each in ATTACKS[:3]])
    todos = call("update_todo_list", todos="\n".join(f"[ ] {each!r}" for each in ATTACKS))
    turns: list[dict[str, Any]] = [
        {"reasoning": text, "text": text, "calls": [todos]},
        {"calls": [call("read_file", path="hostile.txt")]},
        {"calls": [call("execute_command", command=f"echo {json.dumps(ATTACKS[0])} '\u202e'")]},
        {"calls": [call("write_to_file", path="<img src=x onerror=window.hit=1>.html", content=text)]},
        {"calls": [question]},
        {"text": text},
    ]
    script(robota, *turns)
    with web_page(robota) as server, tab(browser, server.link) as page:
        reached: list[str] = []
        page.on("request", lambda request: reached.append(request.url))
        start_task(page, text)
        for ask in ("command", "tool"):
            card = until_asked(page, ask)
            assert "‹U+202E›" in card.inner_text() if ask == "command" else "<img" in card.inner_text()
            card.locator(".buttons .primary").click()
        until_asked(page, "followup").locator(".suggestion").first.click()
        until_state(page, "idle")
        page.reload()
        until_state(page, "idle")
        for summary in page.locator("summary").all():
            if summary.is_visible():
                summary.click()
        page.locator("#input").fill(f"/rename {ATTACKS[0]}")
        page.locator("#input").press("Enter")
        page.locator(".bar-title h1").get_by_text("<img").wait_for()
        assert page.evaluate("window.hit") is None and page.evaluate("({}).hit") is None
        assert (
            page.locator(".transcript :is(script, iframe, svg:not(.icon), .prose img, [onerror], [onload])").count()
            == 0
        )
        links = page.locator(".transcript .prose a").evaluate_all("all => all.map(each => each.protocol)")
        assert set(links) <= {"http:", "https:", "mailto:"}
        assert all(url.startswith((server.origin, "data:image/", "blob:")) for url in reached), reached


def test_thousands_of_rows_stay_a_small_document(robota: Robota, browser: "Browser") -> None:
    """The newest rows come at once, older ones when the user scrolls up; never are all in the document."""
    turns: list[dict[str, Any]] = [
        {"text": "This is answer {n}.", "calls": [call("glob", pattern="*{n}")], "repeat": 500},
        {"text": "The end."},
    ]
    script(robota, *turns)
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "Say a lot")
        page.get_by_text("The end.").wait_for(timeout=300_000)
        until_state(page, "idle")
        page.reload()
        page.get_by_text("The end.").wait_for()
        seen = page.locator(".transcript [data-key]").count()
        assert seen <= 200
        box = page.locator(".transcript")
        oldest = 500
        for _ in range(12):
            box.evaluate("each => { each.scrollTop = 0 }")
            page.wait_for_timeout(150)
            shown = page.locator(".transcript .answer").first.inner_text()
            assert page.locator(".transcript [data-key]").count() <= 200
            number = int(shown.removeprefix("This is answer ").removesuffix("."))
            assert number <= oldest
            oldest = number
        assert oldest < 350
        page.get_by_role("button", name="Latest").click()
        page.get_by_text("The end.").wait_for()


def test_a_stalled_server_is_noticed_and_a_page_that_slept_is_awake_at_once(robota: Robota, browser: "Browser") -> None:
    """Nothing comes and nothing is closed: only the missing beats tell. The clock of the page is turned forward."""
    script(robota, {"text": "Slow.", "chunkDelayMs": 1, **WRITE}, {"text": "Done."})
    with web_page(robota) as server, tab(browser, server.link, bypass_csp=True) as page:
        page.locator(".sidebar").wait_for()
        page.clock.install()
        page.reload()
        start_task(page, "write a file")
        until_asked(page, "tool")
        server.process.send_signal(signal.SIGSTOP)
        page.clock.fast_forward(26_000)
        page.locator(".connection").wait_for()
        server.process.send_signal(signal.SIGCONT)
        page.locator(".connection").wait_for(state="detached")
        page.context.set_offline(True)
        page.clock.fast_forward(3_600_000)
        page.locator(".connection").wait_for()
        page.context.set_offline(False)
        page.evaluate("dispatchEvent(new Event('online'))")
        page.locator(".connection").wait_for(state="detached")
        page.get_by_role("button", name="Approve").click()
        until_state(page, "idle")
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_a_conversation_that_is_condensed_meanwhile_stays_readable(robota: Robota, browser: "Browser") -> None:
    answers = [{"text": f"Answer {number}. " * 50} for number in range(4)]
    script(robota, *answers, {"text": "What was said, in short."}, {"text": "And on."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "talk")
        for number in range(1, 4):
            page.locator("#input:enabled").fill("and then?")
            until_state(page, "idle")
            page.locator("#input").press("Enter")
            page.get_by_text(f"Answer {number}.").wait_for()
        until_state(page, "idle")
        other = page.context.new_page()
        other.goto(page.url)
        until_state(other, "idle")
        page.get_by_role("tab", name="Context").click()
        page.get_by_role("button", name="Condense now").click()
        for each in (page, other):
            each.locator(".note", has_text="Condensed").first.wait_for()
            until_state(each, "idle")
            each.locator(".transcript").get_by_text("Answer 0.").wait_for()
        other.locator("#input").fill("go on")
        other.locator("#input").press("Enter")
        page.locator(".transcript").get_by_text("And on.").wait_for()


def test_megabytes_in_a_row_stay_readable(robota: Robota, browser: "Browser") -> None:
    output = {"calls": [call("execute_command", command="yes 0123456789 | head -c 5000000")]}
    script(robota, output, {"text": "word " * 780_000, "chunkSize": 500_000})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "say much")
        until_asked(page, "command").locator(".buttons .primary").click()
        until_state(page, "idle")
        page.reload()
        until_state(page, "idle")
        page.get_by_text("are not shown").first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.outerHTML.length") < 1_000_000


def test_many_tabs_and_all_of_them_live(robota: Robota, browser: "Browser") -> None:
    """Browsers open six connections to a server; tabs that nobody sees must not use them up."""
    script(robota, WRITE, {"text": "Done."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "write a file")
        until_asked(page, "tool")
        others = [page.context.new_page() for _ in range(3)]
        for other in others:
            other.goto(page.url)
            until_asked(other, "tool")
        page.get_by_role("button", name="Approve").click()
        for other in others:
            until_state(other, "idle")


def test_the_state_on_the_page_is_that_of_the_protocol(robota: Robota, browser: "Browser", tmp_path: Path) -> None:
    """On every prefix of 500 sessions, by the function that the page itself uses."""
    script(robota, {"text": "Hello."})
    sessions = [_random_session(number) for number in range(500)]
    expected = [[detect_agent_state(rows[:end]).state.value for end in range(len(rows) + 1)] for rows in sessions]
    plain = [[json.loads(encode(page_row(row))) for row in rows] for rows in sessions]
    with web_page(robota) as server, tab(browser, server.link) as page:
        found = page.evaluate(
            """async (sessions) => {
                const { detectAgentState } = await import("/site/js/agent-state.js");
                const at = (rows) => (end) => detectAgentState(rows.slice(0, end));
                const states = (rows) => [...rows.keys(), rows.length].map(at(rows));
                return sessions.map(states);
            }""",
            plain,
        )
    assert found == expected


def _random_session(seed: int) -> list[Message]:
    import random

    chance = random.Random(seed)
    asks = (*sorted(KNOWN_ASKS), "kind_of_tomorrow", None)
    says = (
        "text",
        "reasoning",
        "api_req_started",
        "api_req_started",
        "command_output",
        "completion_result",
        "error",
        None,
    )
    texts = (None, "", "{}", '{"cost":0}', '{"cost":null}', '{"tokensIn":3}', "[1]", "null", "3", "{broken", "words")
    rows = []
    for ts in range(1, chance.randrange(2, 24)):
        is_ask = chance.random() < 0.4
        rows.append(
            Message(
                ts=ts,
                type="ask" if is_ask else "say",
                ask=chance.choice(asks) if is_ask else None,
                say=None if is_ask else chance.choice(says),
                text=chance.choice(texts),
                partial=chance.choice((None, None, True, False)),
                is_answered=chance.choice((None, None, True, False)) if is_ask else None,
            )
        )
    return rows

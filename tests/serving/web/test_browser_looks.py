"""How the page looks and is used: themes, a phone, a screen reader, the keyboard."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.browser import AXE, DESK, PHONE, needs_chromium, start_task, tab, until_asked, until_state
from tests.harness.cli import Robota
from tests.harness.web_page import web_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium
ANSWER = """\
# Title

Some *text*, `code` and a [link](https://example.com).

```python
def f(x): return 'a'  # b
```

| a | b |
|---|---|
| 1 | 2 |
"""
TURNS: tuple[dict[str, Any], ...] = (
    {
        "reasoning": "Thinking.",
        "text": ANSWER,
        "calls": [call("update_todo_list", todos="[x] One\n[-] Two\n[ ] Three")],
    },
    {"calls": [call("execute_command", command="cat shop.py > b.txt && ls missing")]},
    {"calls": [call("read_file", path="shop.py")]},
    {"calls": [call("write_to_file", path="shop.py", content="a = 2\n" + "\n" * 12 + "b = 2\n")]},
)


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed; make mcp-servers installs it with npm")
@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_axe_finds_no_violation(robota: Robota, browser: "Browser", theme: str, size: tuple[int, int]) -> None:
    (robota.workspace / "shop.py").write_text("a = 1\n" + "\n" * 12 + "b = 1\n")
    script(robota, *TURNS)
    with web_page(robota) as server, tab(browser, server.link, bypass_csp=True) as page:
        page.evaluate(
            "name => { localStorage.setItem('robota-theme', name); document.documentElement.dataset.theme = name }",
            theme,
        )
        page.get_by_role("button", name="New session").first.click()
        found = _violations(page)
        page.keyboard.press("Escape")
        start_task(page, "Look at everything")
        page.set_viewport_size({"width": size[0], "height": size[1]})
        until_asked(page, "command")
        found += _violations(page)
        page.get_by_role("button", name="Run", exact=True).click()
        until_asked(page, "tool")
        found += _violations(page)
        if size == PHONE:
            page.get_by_role("button", name="Details").last.click()
        for name in ("Context", "Changes"):
            page.get_by_role("tab", name=name).click()
            page.locator(".ledger-picture, .panels .diff").first.wait_for()
            found += _violations(page)
        if size == PHONE:
            page.get_by_role("button", name="Close").last.click()
        for line in ("/config", "/audit", "/mcp"):
            page.locator("#input").fill(line)
            page.locator("#input").press("Control+Enter")
            page.get_by_role("dialog").wait_for()
            found += _violations(page)
            page.keyboard.press("Escape")
        page.evaluate("document.activeElement.blur()")
        page.locator("body").press("?")
        page.get_by_role("dialog").wait_for()
        found += _violations(page)
        page.keyboard.press("Escape")
        page.evaluate("history.pushState(null, '', '/'); dispatchEvent(new PopStateEvent('popstate'))")
        page.locator(".home .waiting").wait_for()
        found += _violations(page)
    assert found == []


def test_a_phone_shows_everything_without_scrolling_sideways(robota: Robota, browser: "Browser") -> None:
    (robota.workspace / "shop.py").write_text("a = 1\n" + "\n" * 12 + f"b = 1  # {'long ' * 60}\n")
    script(robota, *TURNS)
    with web_page(robota) as server, tab(browser, server.link, PHONE, has_touch=True, is_mobile=True) as page:
        start_task(page, "Look at everything")
        until_asked(page, "command").get_by_role("button", name="Run", exact=True).tap()
        card = until_asked(page, "tool")
        for button in card.locator(".buttons button").all():
            box = button.bounding_box()
            assert box is not None and box["height"] >= 38 and box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0]
            assert box["y"] + box["height"] <= PHONE[1]
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        page.locator(".bar .icon-button").first.tap()
        page.locator(".sidebar.open").wait_for()
        page.locator(".scrim").tap(position={"x": 350, "y": 400})
        page.locator(".sidebar.open").wait_for(state="detached")


def test_the_keyboard_is_enough(robota: Robota, browser: "Browser") -> None:
    script(robota, {"calls": [call("execute_command", command="touch a.txt")]}, {"text": "Done."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "touch")
        until_asked(page, "command")
        page.locator("body").press("/")
        assert page.evaluate("document.activeElement.id") == "input"
        page.keyboard.type("y")  # a letter in a text approves nothing
        assert not (robota.workspace / "a.txt").exists()
        page.locator("#input").fill("")
        page.evaluate("document.activeElement.blur()")
        page.locator("body").press("y")
        until_state(page, "idle")
        assert (robota.workspace / "a.txt").exists()
        page.locator("body").press("Control+k")
        assert page.evaluate("document.activeElement.id") == "search"


def test_a_screen_reader_is_told_what_is_asked(robota: Robota, browser: "Browser") -> None:
    script(robota, {"calls": [call("execute_command", command="touch a.txt")]}, {"text": "Done."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "touch")
        page.locator("[aria-live=polite]").get_by_text("Needs you: Bash touch a.txt").wait_for(state="attached")
        assert page.title().startswith("●") and "waiting" in str(page.locator("#icon").get_attribute("href"))


def _violations(page: "Page") -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary'][:300]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]

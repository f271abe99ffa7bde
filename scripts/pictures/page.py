"""Pictures of the page of `robota web`, taken with Chromium."""

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.cli.scripts import call, script
from tests.harness.browser import chromium, start_task, tab, until_asked, until_state
from tests.harness.cli import Robota
from tests.harness.web_page import web_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

BEFORE = """\
def total(prices):
    result = 0
    for price in prices:
        result -= price
    return result


def dearest(prices):
    return max(prices)


def cheapest(prices):
    return max(prices)
"""
AFTER = BEFORE.replace("-= price", "+= price").replace(
    "cheapest(prices):\n    return max", "cheapest(prices):\n    return min"
)
ANSWER = """\
Two functions of `shop.py` are wrong:

- `total` **subtracts** each price
- `cheapest` returns the dearest one
"""
PLAN = "[x] Read shop.py\n[-] Fix total and cheapest\n[ ] Run the tests"
TURNS: tuple[dict[str, Any], ...] = (
    {"calls": [call("read_file", path="shop.py")], "usage": {"input": 21400, "output": 60, "cost": 0.021}},
    {
        "reasoning": "The loop subtracts, and cheapest takes the maximum.",
        "text": ANSWER,
        "calls": [call("update_todo_list", todos=PLAN), call("write_to_file", path="shop.py", content=AFTER)],
        "usage": {"input": 22900, "output": 340, "cost": 0.034},
    },
    {"calls": [call("execute_command", command="python3 -c 'import shop; print(shop.total([1, 2]))' > result.txt")]},
    {
        "text": "Both functions are right now; `total([1, 2])` is 3.",
        "calls": [
            call(
                "ask_followup_question",
                question="Shall I add tests for them?",
                follow_up=[{"text": "Yes, with pytest"}, {"text": "No, that is all"}],
            )
        ],
    },
    {"text": "All right."},
)


def draw_page(pictures: Path) -> None:
    """The page on a desk and on a phone, light and dark."""
    with chromium() as browser, tempfile.TemporaryDirectory(prefix="robota-pictures-") as place:
        for scheme in ("light", "dark"):
            robota = _shop(Path(place) / scheme)
            with web_page(robota) as server, tab(browser, server.link, (1280, 800), color_scheme=scheme) as page:
                _take(page, pictures, scheme)


def _take(page: "Page", pictures: Path, scheme: str) -> None:
    start_task(page, "Fix the functions in shop.py")
    until_asked(page, "tool")
    page.wait_for_timeout(4000)  # the list of sessions follows
    page.screenshot(path=pictures / f"page-approval-{scheme}.png")
    page.set_viewport_size({"width": 390, "height": 780})
    page.wait_for_timeout(300)
    page.screenshot(path=pictures / f"page-phone-{scheme}.png")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("button", name="Approve").click()
    until_asked(page, "command").get_by_role("button", name="Run", exact=True).click()
    until_asked(page, "followup")
    page.wait_for_timeout(500)
    page.screenshot(path=pictures / f"page-question-{scheme}.png")
    page.get_by_role("button", name="No, that is all").click()
    until_state(page, "idle")


def _shop(place: Path) -> Robota:
    robota = Robota(place / "shop", place / "home")
    robota.home.mkdir(parents=True)
    robota.workspace.mkdir()
    (robota.workspace / "shop.py").write_text(BEFORE)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=robota.workspace, check=True)
    script(robota, *TURNS)
    return robota

"""Chromium of the system on a real `robota web`. Tests that need it are skipped where it is missing."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = Path(__file__).parents[2] / ".venv/mcp-servers/node_modules/axe-core/axe.min.js"
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="this test needs chromium, which is not installed (Debian: apt install chromium)"
)
DESK = (1440, 900)
PHONE = (360, 740)
WITHIN_MS = 60_000


@contextmanager
def chromium() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright

    assert CHROMIUM is not None
    # Root has no sandbox of its own there; the pages are ours.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def tab(browser: "Browser", link: str, size: tuple[int, int] = DESK, **options: Any) -> Iterator["Page"]:
    """A page of its own browser profile. Whatever the page complains about fails the test."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
    context.set_default_timeout(WITHIN_MS)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if _is_complaint(message) else None)
    try:
        page.goto(link)
        yield page
        assert complaints == []
    finally:
        context.close()


def _is_complaint(message: Any) -> bool:
    """Errors, but not those of requests that a test lets fail."""
    return message.type == "error" and "Failed to load resource" not in message.text


def start_task(page: "Page", text: str) -> str:
    """Start a session in the page; its id."""
    page.get_by_role("button", name="New session").first.click()
    page.get_by_label("First task").fill(text)
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/s/*")
    return page.url.rpartition("/")[2]


def until_asked(page: "Page", ask: str) -> Any:
    """The card of an ask."""
    card = page.locator(f"section.ask[data-ask={ask}]")
    card.wait_for()
    return card


def until_state(page: "Page", state: str) -> None:
    page.locator(f"[data-state={state}]").wait_for()

"""What a user gives the page besides answers: files, queued messages, settings, another model."""

import base64
import json
from typing import TYPE_CHECKING

from tests.cli.scripts import call, script
from tests.harness.browser import needs_chromium, start_task, tab, until_asked, until_state
from tests.harness.cli import Robota
from tests.harness.web_page import web_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
# Lets files fall on the page, or pastes them.
GIVE = """
([how, files]) => {
    const given = new DataTransfer();
    for (const [name, type, content] of files) {
        given.items.add(new File([Uint8Array.from(atob(content), (each) => each.charCodeAt(0))], name, { type }));
    }
    const usual = { bubbles: true, cancelable: true };
    const target = document.querySelector(how === "paste" ? "#input" : ".transcript");
    if (how === "paste") target.dispatchEvent(new ClipboardEvent("paste", { clipboardData: given, ...usual }));
    else target.dispatchEvent(new DragEvent("drop", { dataTransfer: given, ...usual }));
}
"""


def test_images_and_files_are_dropped_and_pasted(robota: Robota, browser: "Browser") -> None:
    script(robota, {"text": "Hello."}, {"expect": {"user": "what I noted"}, "text": "I see."}, seesImages=True)
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "hello")
        until_state(page, "idle")
        _give(page, "drop", ("pixel.png", "image/png", PIXEL))
        page.locator(".composer .thumb img").wait_for()
        _give(
            page, "paste", ("note.txt", "text/plain", b"what I noted"), ("big.bin", "application/zip", b"0" * 300_000)
        )
        page.locator(".toast").get_by_text("big.bin is too big").wait_for()
        assert "note.txt" in page.locator("#input").input_value()
        page.locator("#input").press("Control+Enter")
        page.get_by_text("I see.").wait_for()
        assert page.locator(".bubble img").count() == 1


def test_a_queued_message_is_changed_in_its_place(robota: Robota, browser: "Browser") -> None:
    command = {"calls": [call("execute_command", command="until [ -e go ]; do sleep 0.1; done")]}
    script(robota, command, {"expect": {"user": "the better words"}, "text": "Done."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "wait")
        until_asked(page, "command").locator(".buttons .primary").click()
        page.locator(".call .spinner").wait_for()
        page.locator("#input").fill("words")
        page.locator("#input").press("Enter")
        page.locator("#input").fill("a draft that must stay")
        page.locator(".queue").get_by_role("button", name="Edit").click()
        page.locator(".queue textarea").fill("the better words")
        page.locator(".queue textarea").press("Enter")
        page.locator(".queue .queued").get_by_text("the better words").wait_for()
        assert page.locator("#input").input_value() == "a draft that must stay"
        (robota.workspace / "go").touch()
        page.get_by_text("Done.", exact=True).wait_for()


def test_settings_and_the_model_are_changed_from_the_page(robota: Robota, browser: "Browser") -> None:
    script(robota, {"text": "Hello."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "hello")
        until_state(page, "idle")
        page.get_by_role("button", name="Settings").click()
        page.get_by_role("button", name="Settings /config").click()
        dialog = page.get_by_role("dialog")
        dialog.locator("input[aria-label^='/config set']").fill("theme dark")
        dialog.get_by_role("button", name="Run /config set").click()
        dialog.get_by_role("button", name="Back").click()
        dialog.get_by_text("theme").first.wait_for()
        page.keyboard.press("Escape")
        assert json.loads((robota.home / ".robota/settings.json").read_text())["theme"] == "dark"
        page.get_by_role("button", name="Settings").click()
        page.get_by_role("button", name="MCP servers").click()
        dialog.get_by_text("No MCP server is configured").wait_for()
        dialog.get_by_role("button", name="Run /mcp add").wait_for()
        page.keyboard.press("Escape")
        page.locator("#input").fill("/model another")
        page.locator("#input").press("Enter")
        page.locator(".options").get_by_role("button", name="Model: another").wait_for()
        page.locator("#input").fill("go on")
        page.locator("#input").press("Enter")
        page.locator(".answer").nth(1).wait_for()


def _give(page: "Page", how: str, *files: tuple[str, str, bytes]) -> None:
    page.evaluate(GIVE, [how, [[name, kind, base64.b64encode(content).decode()] for name, kind, content in files]])

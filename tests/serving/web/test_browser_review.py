"""What was changed, and taking it back: files, single changes, rewinds, and why a line is there."""

import re
from typing import TYPE_CHECKING

from tests.cli.scripts import call, script
from tests.harness.browser import needs_chromium, start_task, tab, until_asked, until_state
from tests.harness.cli import Robota
from tests.harness.web_page import web_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_chromium
BETWEEN = "".join(f"line {number}\n" for number in range(20))
BEFORE = f"one\n{BETWEEN}two\n"
AFTER = f"uno\n{BETWEEN}dos\n"
READ = {"calls": [call("read_file", path="a.txt")]}
CHANGE = {
    "calls": [
        call("write_to_file", path="a.txt", content=AFTER),
        call("write_to_file", path="b c.txt", content="new\n"),
    ]
}


def test_a_change_or_a_file_is_taken_back_after_a_preview_and_returned(robota: Robota, browser: "Browser") -> None:
    file, other = robota.workspace / "a.txt", robota.workspace / "b c.txt"
    file.write_text(BEFORE)
    script(robota, READ, CHANGE, {"text": "Done."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "change both")
        for _ in range(2):
            until_asked(page, "tool").get_by_role("button", name="Approve").click()
        until_state(page, "idle")
        page.get_by_role("tab", name="Changes").click()
        panel = page.locator(".panels")
        panel.get_by_text("2 changed files").wait_for()
        panel.get_by_role("button", name=re.compile("Take back -19")).click()
        dialog = page.get_by_role("dialog")
        dialog.locator(".line.add").get_by_text("two").wait_for()
        assert dialog.get_by_text("one", exact=True).count() == 0 and file.read_text() == AFTER
        dialog.get_by_role("button", name="Take back", exact=True).click()
        dialog.wait_for(state="detached")
        assert file.read_text() == f"uno\n{BETWEEN}two\n"
        panel.get_by_role("button", name="Remove this file").click()
        dialog.get_by_role("button", name="Restore this file").click()
        dialog.wait_for(state="detached")
        assert not other.exists()
        page.locator(".toast").get_by_role("button", name="Undo").last.click()
        page.locator(".toast").get_by_text("Undone.").wait_for()
        assert other.read_text() == "new\n"
        file.write_text(f"mine\n{file.read_text()}")  # the user's own change stays
        panel.get_by_role("button", name="Restore this file: a.txt").click()
        dialog.locator(".line.remove").get_by_text("mine").wait_for()
        file.write_text("changed once more\n")
        dialog.get_by_role("button", name="Restore this file").click()
        dialog.get_by_text("Files have changed since this preview").wait_for()
        assert file.read_text() == "changed once more\n"


def test_a_line_tells_which_prompt_and_call_wrote_it(robota: Robota, browser: "Browser") -> None:
    (robota.workspace / "a.txt").write_text(BEFORE)
    script(robota, READ, CHANGE, {"text": "Done."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "change both, please")
        for _ in range(2):
            until_asked(page, "tool").get_by_role("button", name="Approve").click()
        until_state(page, "idle")
        page.locator(".transcript .diff").first.locator("button.number").first.click()
        told = page.get_by_role("dialog")
        told.get_by_text("change both, please").first.wait_for()
        assert "write_to_file" in told.inner_text() or "Write" in told.inner_text()

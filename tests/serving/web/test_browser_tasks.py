"""Tasks from start to end in a browser: what a user reads, decides and answers."""

import re
from typing import TYPE_CHECKING

from tests.cli.scripts import call, script
from tests.harness.browser import PHONE, needs_chromium, start_task, tab, until_asked, until_state
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal
from tests.harness.web_page import web_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_chromium
BEFORE = "def add(a, b):\n    return a - b\n" + "\n\n" * 6 + "def sub(a, b):\n    return a + b\n"
AFTER = "def add(a, b):\n    return a + b\n" + "\n\n" * 6 + "def sub(a, b):\n    return a - b\n"
FIX = {"reasoning": "The signs are wrong.", "calls": [call("write_to_file", path="calc.py", content=AFTER)]}
READ = {"calls": [call("read_file", path="calc.py")]}
RUN = {"calls": [call("execute_command", command="cat calc.py > copy.txt")]}
QUESTION = call(
    "ask_followup_question", question="Write a test as well?", follow_up=[{"text": "Yes, please"}, {"text": "No"}]
)


def test_a_task_from_start_to_end(robota: Robota, browser: "Browser") -> None:
    """One change of two is approved, a command is edited, a question answered, then everything is taken back."""
    (robota.workspace / "calc.py").write_text(BEFORE)
    script(
        robota,
        READ,
        FIX,
        RUN,
        {"calls": [QUESTION]},
        {"text": "All **done**.\n\n- `add` is right"},
        {"text": "Hello again."},
    )
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "Fix calc.py")
        assert "#" not in page.url and page.evaluate("document.cookie") == ""
        card = until_asked(page, "tool")
        assert [button.inner_text() for button in card.locator(".buttons button.button:not(.quiet)").all()] == [
            "Reject",
            "Approve",
        ]
        assert "approval" in card.inner_text()
        card.locator("input[type=checkbox]").nth(1).uncheck()
        card.get_by_text("1 of 2 changes").wait_for()
        card.get_by_role("button", name="Approve").click()
        card = until_asked(page, "command")
        assert (robota.workspace / "calc.py").read_text() == AFTER.replace("a - b", "a + b")
        card.get_by_role("button", name="Edit before it runs").click()
        card.locator("textarea").fill("echo edited > copy.txt")
        card.get_by_role("button", name="Run", exact=True).click()
        card = until_asked(page, "followup")
        assert (robota.workspace / "copy.txt").read_text() == "edited\n"
        assert card.locator(".buttons button.primary").count() == 0
        page.locator("body").press("1")
        until_state(page, "idle")
        assert page.locator(".answer strong").inner_text() == "done"
        assert page.locator(".thought").count() == 1
        assert page.title().startswith("✓")
        page.get_by_role("tab", name="Changes").click()
        page.locator(".panels .diff .path").get_by_text("copy.txt").wait_for()
        page.get_by_role("button", name="Rewind").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("slider").fill("0")
        dialog.get_by_text("Fix calc.py").wait_for()
        dialog.locator(".path").get_by_text("calc.py").wait_for()
        dialog.get_by_role("button", name="Go back to here").click()
        dialog.wait_for(state="detached")
        assert (robota.workspace / "calc.py").read_text() == BEFORE
        assert not (robota.workspace / "copy.txt").exists()
        assert page.locator("#input").input_value() == "Fix calc.py"


def test_rejecting_with_a_reason_stopping_resuming_and_queueing(robota: Robota, browser: "Browser") -> None:
    slow = {"text": "One word after the other. " * 40, "chunkDelayMs": 200}
    script(robota, FIX, slow, {"expect": {"user": "go on"}, "text": "I go on."}, {"text": "And the rest."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "Fix calc.py")
        until_asked(page, "tool")
        page.locator("#input").fill("use pathlib")
        page.get_by_role("button", name="Reject").click()
        page.locator(".prose.growing").wait_for()
        page.locator("#input").fill("and then the docs")
        page.get_by_role("button", name="Queue").click()
        page.locator(".queue").get_by_text("and then the docs").wait_for()
        page.locator(".queue button").last.click()
        page.locator(".queue").wait_for(state="detached")
        page.get_by_role("button", name="Stop").click()
        card = until_asked(page, "resume_task")
        assert [each.inner_text() for each in card.locator(".buttons button").all()] == ["Terminate", "Resume"]
        assert page.title().startswith("‖")
        page.locator("#input").fill("go on")
        page.locator("#input").press("Enter")
        page.get_by_text("I go on.").wait_for()
    assert not (robota.workspace / "calc.py").exists()


def test_a_failed_request_offers_to_retry_and_takes_no_text(robota: Robota, browser: "Browser") -> None:
    script(robota, {"fault": {"kind": "invalid_request", "message": "no <b>credit</b>"}}, {"text": "Now it works."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "hello")
        card = until_asked(page, "api_req_failed")
        assert "no <b>credit</b>" in card.inner_text()
        assert page.locator("#input").is_disabled()
        assert [each.inner_text() for each in card.locator(".buttons button").all()] == ["New Task", "Retry"]
        card.get_by_role("button", name="Retry").click()
        page.get_by_text("Now it works.").wait_for()
        page.get_by_role("button", name="New Task").click()
        until_state(page, "no_task")


def test_rules_commands_completion_and_modes(robota: Robota, browser: "Browser") -> None:
    script(
        robota,
        {"calls": [call("execute_command", command="touch a.txt")]},
        {"calls": [call("execute_command", command="touch a.txt")]},
        {"text": "Done."},
    )
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "touch")
        card = until_asked(page, "command")
        card.get_by_label("Rule").first.select_option(index=1)
        card.get_by_role("button", name="Run", exact=True).click()
        until_state(page, "idle")  # the second call did not ask
        page.locator("#input").press_sequentially("/perm")
        page.locator(".popup [role=option]").first.wait_for()
        page.locator("#input").press("Tab")
        assert re.match(r"/perm\S+ ?$", page.locator("#input").input_value())
        page.locator("#input").fill("/skills list")
        page.locator("#input").press("Enter")
        page.get_by_role("dialog").or_(page.locator(".toast")).first.wait_for()
        page.keyboard.press("Escape")
        page.get_by_label("What may run without asking").select_option("plan")
        page.locator(".options select option[value=plan]:checked").wait_for(state="attached")
        page.locator("#input").fill("/nothing")
        page.locator("#input").press("Enter")
        page.locator(".toast").get_by_text("nothing").wait_for()


def test_a_session_wanders_from_terminal_to_page_to_phone_and_back(robota: Robota, browser: "Browser") -> None:
    script(robota, READ, FIX, RUN, {"text": "All done."})
    (robota.workspace / "calc.py").write_text(BEFORE)
    with web_page(robota) as server, Terminal(robota, "--plain") as terminal:
        terminal.answer("> ", "Fix calc.py")
        terminal.wait_for("calc.py")
        with tab(browser, server.link) as page:
            card = until_asked(page, "tool")  # it opens what needs the user
            page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
            box = card.get_by_role("button", name="Approve").bounding_box()
            assert box is not None and box["y"] + box["height"] < PHONE[1] and box["height"] >= 44
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
            card.get_by_role("button", name="Approve").click()
            until_asked(page, "command")
            terminal.wait_for("cat calc.py")
            terminal.answer("> ", "y")
            until_state(page, "idle")
            page.get_by_text("All done.").wait_for()
        terminal.wait_for("All done.")
    assert (robota.workspace / "copy.txt").read_text() == AFTER

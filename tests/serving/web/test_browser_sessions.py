"""Many sessions on one page: the inbox, the list, what works in the background, notifications."""

import subprocess
from typing import TYPE_CHECKING

from tests.cli.scripts import call, script
from tests.harness.browser import PHONE, needs_chromium, start_task, tab, until_asked, until_state
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.web_page import web_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium
WRITE = {"calls": [call("write_to_file", path="a.txt", content="a\n")]}
QUESTION = {"calls": [call("ask_followup_question", question="Red or blue?", follow_up=[{"text": "Red"}])]}


def test_everything_that_waits_is_answered_in_one_place(robota: Robota, browser: "Browser") -> None:
    script(robota, WRITE, QUESTION, {"text": "Done."})
    with web_page(robota) as server, tab(browser, server.link, PHONE, has_touch=True, is_mobile=True) as page:
        start_task(page, "write a file")
        until_asked(page, "tool")
        _go_home(page)
        page.locator(".home .waiting").first.wait_for()
        page.locator(".home").get_by_role("button", name="New session").tap()
        page.get_by_label("First task").fill("another file")
        page.get_by_role("button", name="Start", exact=True).tap()
        until_asked(page, "tool").get_by_role("button", name="Approve").click()
        until_asked(page, "followup")
        _go_home(page)
        page.get_by_role("heading", name="2 questions wait for you").wait_for()
        second = page.locator(".waiting", has_text="another file")
        second.get_by_label("Your answer …").fill("green")
        second.get_by_label("Your answer …").press("Enter")
        second.wait_for(state="detached")
        first = page.locator(".waiting", has_text="write a file")
        assert page.title().startswith("●")
        first.get_by_role("button", name="Reject").tap()
        first.locator("[data-ask=followup]").get_by_role("button", name="Red").tap()
        page.get_by_text("Nothing waits for you.").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_the_list_renames_forks_ends_trashes_and_brings_back(robota: Robota, browser: "Browser") -> None:
    script(robota, {"text": "Hello."}, {"text": "Hello."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "a first session")
        until_state(page, "idle")
        _choose(page, "a first session", "Rename")
        page.get_by_label("Name").fill("better")
        page.get_by_label("Name").press("Enter")
        page.locator(".bar h1").get_by_text("better").wait_for()
        _choose(page, "better", "End session")
        page.get_by_text("This session has ended here").wait_for()
        page.get_by_role("heading", name="Earlier").wait_for()
        _choose(page, "better", "Fork")
        _until_sessions(page, 2)
        until_state(page, "idle")
        assert page.locator(".answer").inner_text().startswith("Hello.")
        earlier = page.locator("section", has_text="Earlier").locator("li")
        earlier.locator(".entry-menu").click()
        earlier.get_by_role("button", name="Move to trash").click()
        _until_sessions(page, 1)
        page.locator(".toast").get_by_role("button", name="Undo").click()
        _until_sessions(page, 2)
        page.get_by_label("Search sessions").fill("nothing like it")
        page.get_by_text("No session has these words").wait_for()


def test_a_session_that_was_deleted_meanwhile_says_so(robota: Robota, browser: "Browser") -> None:
    script(robota, {"text": "Hello."})
    with web_page(robota) as server, tab(browser, server.link) as page:
        session_id = start_task(page, "a session")
        until_state(page, "idle")
        _choose(page, "a session", "End session")
        page.get_by_text("This session has ended here").wait_for()
        command = [str(EXECUTABLE), "sessions", "delete", session_id]
        subprocess.run(command, cwd=robota.workspace, env=clean_environment(robota.home), check=True)
        page.get_by_role("button", name="Resume").click()
        page.locator(".toast").get_by_text("no session").wait_for()
        page.get_by_text("No sessions yet").wait_for()
        page.reload()
        page.get_by_text("This session is not running").wait_for()


def test_work_in_the_background_is_read_steered_and_stopped(robota: Robota, browser: "Browser") -> None:
    start = call("background_process", action="start", command="echo it runs; sleep 600")
    agent = call("agent", description="Look around", prompt="Say what is here.", run_in_background=True)
    touch = {"calls": [call("execute_command", command="touch a.txt")]}
    script(robota, {"calls": [start]}, {"calls": [agent]}, touch, touch, *({"text": f"Words {n}."} for n in range(4)))
    with web_page(robota) as server, tab(browser, server.link) as page:
        start_task(page, "start it")
        page.get_by_role("tab", name="Background").click()
        process = page.locator(".tree > li", has_text="sleep 600")
        process.get_by_role("button", name="Output").click()
        process.locator(".agent-transcript").get_by_text("it runs").wait_for()
        agent_item = page.locator(".tree > li", has_text="agent_1")
        agent_item.get_by_role("button", name="Conversation").click()
        agent_item.get_by_text("Say what is here.").wait_for()
        agent_item.get_by_label("Message to this agent").fill("And once more")
        agent_item.get_by_role("button", name="Send").click()
        for _ in range(2):  # the agent asks, and so does the conversation
            until_asked(page, "command").get_by_role("button", name="Run", exact=True).click()
        agent_item.locator(".agent-transcript").get_by_text("And once more").wait_for()
        process.get_by_role("button", name="Stop").click()
        process.get_by_role("button", name="Remove").click()
        process.wait_for(state="detached")


def test_a_hidden_page_notifies_of_what_is_asked_once(robota: Robota, browser: "Browser") -> None:
    script(robota, WRITE, {"text": "Done."})
    with web_page(robota) as server, tab(browser, server.link, permissions=["notifications"]) as page:
        page.locator(".sidebar").wait_for()
        page.locator("body").press("?")
        page.get_by_label("Notify me").check()
        page.keyboard.press("Escape")
        page.evaluate("Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })")
        start_task(page, "write a file")
        until_asked(page, "tool")
        shown = page.evaluate(
            """async () => {
                for (;;) {
                    const worker = await navigator.serviceWorker.getRegistration("/site/js/");
                    const shown = worker ? await worker.getNotifications() : [];
                    if (shown.length) return shown.map((each) => [each.title, each.body]);
                    await new Promise((next) => setTimeout(next, 50));
                }
            }"""
        )
        assert shown == [["write a file", "Write a.txt"]]


def _go_home(page: "Page") -> None:
    page.get_by_role("button", name="Sessions").first.tap()
    page.locator(".sidebar.open .brand").tap()
    page.locator(".sidebar.open").wait_for(state="detached")


def _until_sessions(page: "Page", count: int) -> None:
    page.locator(".sidebar li").nth(count - 1).wait_for()
    page.locator(".sidebar li").nth(count).wait_for(state="detached")


def _choose(page: "Page", title: str, action: str) -> None:
    entry = page.locator(".sidebar li", has_text=title)
    entry.hover()
    entry.locator(".entry-menu").click()
    entry.get_by_role("button", name=action).click()

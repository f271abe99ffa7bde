"""The page in Firefox: the parts in which browsers differ, in one task from start to end."""

from pathlib import Path

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.firefox import firefox, needs_firefox
from tests.harness.web_page import web_page

pytestmark = needs_firefox
ANSWER = "All **done**, in `calc.py`.\n\n" * 20


def test_a_task_from_start_to_end_in_firefox(robota: Robota, tmp_path: Path) -> None:
    """Let in by a link, a task, an approval of one change of two, streaming, a reload, the keyboard."""
    (robota.workspace / "calc.py").write_text("a = 1\n" + "\n" * 12 + "b = 1\n")
    script(
        robota,
        {"calls": [call("read_file", path="calc.py")]},
        {"calls": [call("write_to_file", path="calc.py", content="a = 2\n" + "\n" * 12 + "b = 2\n")]},
        {"calls": [call("execute_command", command="touch c.txt")]},
        {"text": ANSWER, "chunkDelayMs": 5},
    )
    with web_page(robota) as server, firefox(tmp_path) as browser:
        browser.open(server.link)
        browser.click(".home button.primary")
        assert browser.evaluate("location.hash") == "" and browser.evaluate("document.cookie") == ""
        browser.type(".form textarea", "Change calc.py")
        browser.click(".form button[type=submit]")
        browser.element("section.ask[data-ask=tool]")
        browser.click(".ask .hunk:nth-of-type(2) input[type=checkbox], .ask details .hunk:last-child input")
        browser.click(".ask .buttons .primary")
        browser.element("section.ask[data-ask=command]")
        assert (robota.workspace / "calc.py").read_text() == "a = 2\n" + "\n" * 12 + "b = 1\n"
        browser.type("body", "y")
        browser.element("[data-state=idle]")
        assert (robota.workspace / "c.txt").exists()
        assert browser.evaluate("document.querySelectorAll('.answer strong').length") == 20
        assert str(browser.evaluate("document.title")).startswith("✓")
        browser.call("WebDriver:Refresh")
        browser.element("[data-state=idle]")
        assert browser.until("document.querySelectorAll('.answer strong').length === 20")
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")

"""Slash commands to name, export, search, fork and switch sessions, in a terminal and in print mode."""

import json

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.conversation import typed
from tests.harness.session_log import log_text
from tests.harness.terminal import Terminal

ANSWER = {"text": "Answered here."}


def earlier(robota: Robota, prompt: str, answer: str) -> str:
    """A session of this directory that has ended; returns its id."""
    script(robota, {"text": answer})
    return str(json.loads(robota("-p", prompt, "--output-format", "json").stdout)["session_id"])


def log_of(robota: Robota, session_id: str) -> str:
    return log_text(robota.workspace / ".robota/sessions" / session_id)


def test_rename_is_shown_and_saved(robota: Robota) -> None:
    script(robota, ANSWER)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Answered here.")
        terminal.answer("> ", "/rename")
        terminal.wait_for("Usage: /rename NAME")
        terminal.answer("> ", "/rename  the   roof")
        terminal.wait_for("This session is now called the roof.")
        terminal.answer("> ", "/status")
        terminal.wait_for("name: the roof")
        terminal.answer("> ", "/exit")
        assert terminal.end() == 0
    assert "the roof" in robota("sessions", "list").stdout
    assert "name: the roof" in robota("-p", "/status", "--continue").stdout


def test_export_never_overwrites_a_file(robota: Robota) -> None:
    script(robota, ANSWER)
    with Terminal(robota, "paint the fence") as terminal:
        terminal.wait_for("Answered here.")
        terminal.answer("> ", "/export notes.md")
        terminal.wait_for("The session was written to")
        terminal.answer("> ", "/export markdown notes.md")
        terminal.wait_for("already exists")
        terminal.answer("> ", "/export html")
        terminal.wait_for("The session was written to")
    written = (robota.workspace / "notes.md").read_text()
    assert "paint the fence" in written and "Answered here." in written
    [page] = robota.workspace.glob("robota-*.html")
    assert "paint the fence" in page.read_text()


def test_a_continued_session_is_exported(robota: Robota) -> None:
    earlier(robota, "paint the fence", "Painted.")
    done = typed(robota, "/export stream-json out.jsonl", resumes=sessions(robota)[0])
    assert done.code == 0 and "out.jsonl" in done.stdout, done
    assert "Painted." in (robota.workspace / "out.jsonl").read_text()
    (robota.workspace / "gone.md").symlink_to("nothing")
    for path in ("nowhere/at/all.md", "~nobody-here/x.md", "gone.md", f"{'x' * 300}.md", "."):
        refused = typed(robota, f"/export {path}", resumes=sessions(robota)[0])
        assert refused.code == 1 and refused.stdout == "" and "Traceback" not in refused.stderr, refused
    assert (robota.workspace / "gone.md").is_symlink()


def test_a_session_found_by_search_is_resumed(robota: Robota) -> None:
    fence = earlier(robota, "paint the fence", "Fence painted.")
    earlier(robota, "mend the roof", "Roof mended.")
    script(robota, ANSWER)
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/search nothing-like-it")
        terminal.wait_for("No other session of this directory matches.")
        terminal.answer("> ", "/search fence")
        assert "roof" not in terminal.wait_for("press Enter to cancel.")
        terminal.answer("> ", "1")
        terminal.wait_for("Fence painted.")
        terminal.answer("> ", "and the gate?")
        terminal.wait_for("Answered here.")
        terminal.answer("> ", "/exit")
        assert terminal.end() == 0
    assert "and the gate?" in log_of(robota, fence)
    assert robota("sessions", "verify", fence).code == 0


def test_resume_lists_other_sessions_or_finds_one_by_words(robota: Robota) -> None:
    earlier(robota, "paint the fence", "Fence painted.")
    earlier(robota, "mend the roof", "Roof mended.")
    script(robota, ANSWER)
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/resume")
        shown = terminal.wait_for("press Enter to cancel.")
        number = next(line.split()[0] for line in shown.splitlines() if "mend the roof" in line)
        terminal.answer("> ", number)
        terminal.wait_for("Roof mended.")
        terminal.answer("> ", "/resume no such thing")
        terminal.wait_for("There is no session 'no such thing' here.")
        terminal.answer("> ", "/resume paint fence")
        terminal.wait_for("Fence painted.")


def test_a_session_open_in_another_process_is_refused(robota: Robota) -> None:
    script(robota, ANSWER)
    with Terminal(robota, "paint the fence") as one, Terminal(robota) as other:
        one.wait_for("Answered here.")
        other.answer("> ", "/resume")
        other.wait_for("There is no other session of this directory to resume.")
        other.answer("> ", "/resume fence")
        other.wait_for("is open in another process.")


def test_resume_and_fork_are_refused_while_the_task_works(robota: Robota) -> None:
    slow = {"calls": [call("execute_command", command="until test -e go; do sleep 0.05; done")]}
    script(robota, slow, ANSWER)
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        terminal.wait_for("Bash until")
        terminal.press("/resume\n")
        terminal.wait_for("/resume is not available while the agent is working.")
        terminal.press("/fork\n")
        terminal.wait_for("/fork is not available while the agent is working.")
        (robota.workspace / "go").touch()
        terminal.wait_for("Answered here.")


def test_a_fork_continues_and_leaves_the_original_unchanged(robota: Robota) -> None:
    script(robota, ANSWER)
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/fork")
        terminal.wait_for("This session is empty.")
        terminal.answer("> ", "paint the fence")
        terminal.wait_for("Answered here.")
        [first] = [path.name for path in sessions(robota)]
        terminal.answer("> ", "/fork another try")
        terminal.wait_for("> paint the fence")
        terminal.answer("> ", "/status")
        terminal.wait_for("name: another try")
        terminal.answer("> ", "in green")
        terminal.wait_for("Answered here.")
    [copy] = [path.name for path in sessions(robota) if path.name != first]
    assert "in green" in log_of(robota, copy) and "in green" not in log_of(robota, first)
    assert "another try" in robota("sessions", "list").stdout


def test_print_mode_lists_sessions_with_the_resume_command(robota: Robota) -> None:
    fence = earlier(robota, "paint the fence", "Fence painted.")
    done = robota("-p", "/resume")
    assert done.code == 0 and f"/resume {fence}  paint the fence" in done.stdout, done
    assert f"/resume {fence}" in robota("-p", "/search painted").stdout
    assert robota("-p", "/resume fence").stdout == f"To continue there: robota --resume {fence}\n"
    missing = robota("-p", "/resume gate")
    assert missing.code == 1 and "There is no session 'gate' here." in missing.stderr
    assert robota("-p", "/search ???").code == 2
    assert "No other session" in robota("-p", "/search gate\udcff").stdout

"""What a user puts into the input besides words, at the real program: commands, notes, images, dropped files."""

import base64
import json

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal
from tests.harness.session_log import log_text

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_command_of_the_user_runs_unasked_and_is_sent_to_the_model(robota: Robota) -> None:
    script(robota, {"text": "Seen.", "expect": {"user": "what is that"}})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("!echo h''i > made; cat made\r")
        rows = terminal.sees("    hi")
        assert "> !echo h''i > made; cat made" in rows
        terminal.sees("Idle")
        terminal.press("what is that\r")
        terminal.sees("Seen.")
    assert (robota.workspace / "made").read_text() == "hi\n"
    log = log_text(sessions(robota)[0])
    assert "ran a command themselves" in log


def test_steering_reaches_the_running_turn_and_what_is_queued_waits_for_its_end(robota: Robota) -> None:
    wait = call("execute_command", command="touch begun; while [ ! -e go ]; do sleep 0.05; done")
    steered = {"text": "Steered.", "expect": {"user": "sooner"}}
    script(robota, {"calls": [wait]}, steered, {"text": "And after.", "expect": {"user": "later"}})
    with ScreenTerminal(robota, "--permission-mode", "bypassPermissions") as terminal:
        terminal.sees("Idle")
        terminal.press("run it\r")
        terminal.wait_until((robota.workspace / "begun").exists)
        terminal.press("later\r")
        terminal.sees("queued: later")
        terminal.press("sooner\x13")
        terminal.sees("with the next request: sooner")
        (robota.workspace / "go").touch()
        rows = terminal.sees("And after.")
        words = [row for row in rows if row in ("> sooner", "Steered.", "> later", "And after.")]
        assert words == ["> sooner", "Steered.", "> later", "And after."]


def test_a_note_is_remembered_and_no_prompt(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("# use tabs here\r")
        terminal.sees_no_more("> # use tabs here")
        terminal.sees("Idle")
        terminal.press("/memory list\r")
        terminal.sees("use tabs here")


def test_a_tab_of_a_paste_is_room_on_the_screen_and_a_tab_for_the_model(robota: Robota) -> None:
    script(robota, {"text": "Seen.", "expect": {"user": "a\tb"}})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("\x1b[200~a\tb\x1b[201~!")
        terminal.sees("> a   b!")
        terminal.press("\r")
        terminal.sees("Seen.")


def test_dropped_files_are_shown_or_mentioned(robota: Robota) -> None:
    script(robota, {"text": "Seen."})
    picture = robota.home / "a picture.png"
    picture.write_bytes(PNG)
    (robota.workspace / "calc.py").write_text("x = 1\n")
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press(f"\x1b[200~'{picture}'\x1b[201~")
        terminal.sees("> [Image #1]")
        terminal.press(f"\x1b[200~{robota.workspace / 'calc.py'}\x1b[201~")
        terminal.sees("> [Image #1] @calc.py")
        terminal.press("\r")
        terminal.sees("Seen.")
    log = log_text(sessions(robota)[0])
    records = [json.loads(line) for line in log.splitlines()]
    assert any("base64" in json.dumps(record) or "image/png" in json.dumps(record) for record in records)


def test_the_image_of_the_clipboard_is_pasted_or_it_is_said_why_not(robota: Robota) -> None:
    script(robota, {"text": "Seen."})
    bin_directory = robota.home / "bin"
    bin_directory.mkdir()
    (robota.home / "picture.png").write_bytes(PNG)
    program = bin_directory / "xclip"
    program.write_text(f"#!/bin/sh\nexec cat {robota.home}/picture.png\n")
    program.chmod(0o755)
    env = {"DISPLAY": ":7", "WAYLAND_DISPLAY": "", "PATH": f"{bin_directory}:/usr/bin:/bin"}
    with ScreenTerminal(robota, env=env) as terminal:
        terminal.sees("Idle")
        terminal.press("\x16")
        terminal.sees("> [Image #1]")
        (robota.home / "picture.png").write_bytes(b"words")
        terminal.press("\x16")
        terminal.sees("The clipboard does not contain an image.")
        terminal.press("\r")
        terminal.sees("! scripted is not known to support images")


def test_vi_keys_edit_the_text_and_the_next_line_is_typed_at_once(robota: Robota) -> None:
    script(
        robota, {"text": "First.", "expect": {"user": "greet them"}}, {"text": "Second.", "expect": {"user": "and x"}}
    )
    with ScreenTerminal(robota, env={"ROBOTA_KEYS": "vi"}) as terminal:
        terminal.sees("Idle")
        terminal.press("hello world")
        terminal.sees("> hello world")
        terminal.press("\x1b")
        terminal.wait_for("\x1b[2 q")  # the cursor becomes a block
        terminal.press("0cwgreet")
        terminal.sees("> greet world")
        terminal.press("\x1b")
        terminal.wait_for("\x1b[2 q")
        terminal.press("wcwthem")
        terminal.sees("> greet them")
        terminal.press("\x1b")
        terminal.wait_for("\x1b[2 q")
        terminal.press("\r")
        terminal.sees("First.")
        terminal.press("and x")
        terminal.sees("> and x")
        terminal.press("\r")
        terminal.sees("Second.")
        terminal.press("\x1b")
        terminal.wait_for("\x1b[2 q")
        terminal.press("kk")
        terminal.sees("> greet them")
        terminal.press("j")
        terminal.sees("> and x")


def test_two_prompts_in_one_go_are_sent_one_after_the_other(robota: Robota) -> None:
    """The second one is entered before the screen knows that a task has begun."""
    script(robota, {"text": "One heard."}, {"text": "Two heard.", "expect": {"user": "two"}})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("one\rtwo\r")
        rows = terminal.sees("Two heard.")
        assert "> two" in rows and not any(row.startswith("!") for row in rows)


def test_a_prompt_of_the_command_line_is_in_the_history(robota: Robota) -> None:
    script(robota, {"text": "First answer."}, {"text": "Second answer."})
    with ScreenTerminal(robota, "explain the parser") as terminal:
        terminal.sees("First answer.")
        terminal.sees("Idle")
        terminal.press("\x1b[A, please")
        terminal.sees("> explain the parser, please")
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("\x1b[A")
        terminal.sees("> explain the parser")

"""Mentions other than text files: the web, problems, commands, other sessions, and images."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from robota.knowledge.mentions.sources import project_checks
from robota.protocol.conversation import ImageBlock, TextBlock, UserTurn
from tests.cli.scripts import call, script, sessions
from tests.engine.stage import Stage, play
from tests.harness.cli import Robota
from tests.harness.session_log import log_text
from tests.tools.documents.test_read_file_documents import pdf

DONE = {"text": "Done."}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def run_prompt(robota: Robota, prompt: str, *options: str) -> tuple[str, str]:
    """The log of a run for a prompt, and what the user was shown."""
    done = robota("-p", prompt, *options)
    assert done.code == 0, done.stderr
    newest = max(sessions(robota), key=lambda each: (each / "log.jsonl").stat().st_mtime_ns)
    return log_text(newest), done.stderr


def settings(robota: Robota, **more: Any) -> None:
    path = robota.home / ".robota/settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))


def test_a_mentioned_session_is_summarised_by_its_prompts_and_last_answer(robota: Robota) -> None:
    script(robota, {"text": "It is the flux capacitor."})
    run_prompt(robota, "Why does the engine stutter?")
    (first,) = sessions(robota)
    log, _ = run_prompt(robota, f"Go on from @session:{first.name}, please")
    assert "1. Why does the engine stutter?" in log
    assert "The last answer was:\\nIt is the flux capacitor." in log


def test_a_missing_session_is_reported(robota: Robota) -> None:
    script(robota, DONE)
    log, notices = run_prompt(robota, "Go on from @session:nowhere")
    assert "Not inserted: There is no session 'nowhere' here." in log
    assert "@session:nowhere was not inserted" in notices


def test_problems_are_the_output_of_checks_and_syntax_errors(robota: Robota) -> None:
    script(robota, DONE)
    settings(robota, checks=["cat lint.txt", "cat missing.txt"])
    (robota.workspace / "lint.txt").write_text("a.py:1: unused import\n")
    (robota.workspace / "broken.py").write_text("def f(:\n    pass\n")
    (robota.workspace / "fine.py").write_text("x = 1\n")
    log, _ = run_prompt(robota, "Repair @problems")
    assert "broken.py:1:" in log and "fine.py:" not in log
    assert "$ cat lint.txt" in log and "a.py:1: unused import" in log
    assert "$ cat missing.txt" in log and "No such file" in log


def test_denied_checks_are_reported_as_not_run(robota: Robota) -> None:
    script(robota, DONE)
    settings(robota, checks=["touch ran.txt"])
    log, _ = run_prompt(robota, "Repair @problems")
    assert "$ touch ran.txt\\nNot run: " in log
    assert not (robota.workspace / "ran.txt").exists()


def test_syntax_errors_in_ignored_files_are_not_sent(robota: Robota) -> None:
    script(robota, DONE)
    (robota.workspace / ".robotaignore").write_text("private.py\n")
    settings(robota, permissions={"deny": ["Read(denied.py)"]})
    for name in ("private", "denied"):
        (robota.workspace / f"{name}.py").write_text("hunter2 = (\n")
        (robota.workspace / f"by_link_{name}.py").symlink_to(f"{name}.py")
    (robota.workspace / "broken.py").write_text("x = (\n")
    subprocess.run(["git", "init", "-q"], cwd=robota.workspace, check=True)
    log, _ = run_prompt(robota, "Repair @problems")
    assert "broken.py:1:" in log
    assert "hunter2" not in log and "private.py:" not in log and "denied.py:" not in log


def test_syntax_errors_in_secret_files_are_not_sent(robota: Robota) -> None:
    """By name, and through a link with a harmless name."""
    script(robota, DONE)
    for name in ("credentials.json", "secrets.yaml", ".env.py"):
        (robota.workspace / name).write_text("hunter2 = (\n")
    (robota.workspace / "link.json").symlink_to("credentials.json")
    (robota.workspace / "broken.py").write_text("x = (\n")
    subprocess.run(["git", "init", "-q"], cwd=robota.workspace, check=True)
    log, _ = run_prompt(robota, "Repair @problems")
    assert "broken.py:1:" in log
    assert "hunter2" not in log and "credentials.json:" not in log and "link.json:" not in log


def test_terminal_is_the_output_of_commands_in_this_session(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("Run it")
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", "What went wrong in @terminal?")
        await stage.until_ask("completion_result")
        task = stage.logged().current
        assert task is not None
        last = [turn for turn in task.conversation().turns if isinstance(turn, UserTurn)][-1]
        text = "".join(block.text for block in last.content if isinstance(block, TextBlock))
        assert "$ echo marker-of-$((40+2))" in text and "marker-of-42" in text
        assert "# in the background as bg1, is running" in text

    run = {"calls": [call("execute_command", command="echo marker-of-$((40+2))")]}
    wait = {"calls": [call("background_process", action="start", command="sleep 30")]}
    play(workspace, [run, wait, DONE, DONE], story, permission_mode="bypassPermissions")


def test_a_session_without_commands_has_an_empty_terminal(robota: Robota) -> None:
    script(robota, DONE)
    log, _ = run_prompt(robota, "What is in @terminal?")
    assert "Not inserted: no command has run in this session yet" in log


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/", "https://localhost/"])
def test_web_addresses_pass_the_rules_of_web_fetch(robota: Robota, address: str) -> None:
    script(robota, DONE)
    log, notices = run_prompt(robota, f"Summarise @{address}.", "--permission-mode", "bypassPermissions")
    assert f"@{address} was not inserted: " in notices
    assert f'<mention of=\\"@{address}\\">\\nNot inserted: ' in log


def test_a_page_is_not_fetched_if_nobody_can_be_asked(robota: Robota) -> None:
    script(robota, DONE)
    _, notices = run_prompt(robota, "Summarise @https://example.org/page")
    assert "@https://example.org/page was not inserted: " in notices


@pytest.mark.parametrize("sees_images", [True, False])
def test_an_image_is_shown_to_a_model_that_sees_images(workspace: Path, sees_images: bool) -> None:
    (workspace / "dot.png").write_bytes(PIXEL)

    async def story(stage: Stage) -> None:
        await stage.start("What is on @dot.png?")
        await stage.until_ask("completion_result")
        task = stage.logged().current
        assert task is not None
        [first, *_] = [turn for turn in task.conversation().turns if isinstance(turn, UserTurn)]
        images = [block for block in first.content if isinstance(block, ImageBlock)]
        text = "".join(block.text for block in first.content if isinstance(block, TextBlock))
        assert [image.source.media_type for image in images] == (["image/png"] if sees_images else [])
        assert ("you cannot see images" in text) is not sees_images
        assert "dot.png (image/png, " in text

    play(workspace, [DONE], story, profile_options={"modelInfo": {"seesImages": sees_images}})


def test_a_pdf_is_inserted_as_text(robota: Robota) -> None:
    script(robota, DONE)
    (robota.workspace / "paper.pdf").write_bytes(pdf("The roof leaks", "Second page"))
    log, _ = run_prompt(robota, "Read @paper.pdf")
    assert "The roof leaks" in log and "Second page" in log and "%PDF" not in log


def test_files_named_like_special_words_can_be_mentioned(robota: Robota) -> None:
    script(robota, DONE)
    for name in ("problems", "terminal"):
        (robota.workspace / name).write_text(f"text of {name}\n")
    log, _ = run_prompt(robota, "Compare @./problems and @./terminal")
    assert "text of problems" in log and "text of terminal" in log


def test_checks_are_found_by_their_configuration() -> None:
    files = {
        "pyproject.toml": "[tool.ruff]\nline-length = 100\n[tool.mypy]\n",
        "package.json": '{"scripts": {"lint": "eslint .", "test": "jest"}}',
        "go.mod": "module x\n",
    }
    assert list(project_checks(files.get)) == ["ruff check .", "mypy .", "npm run --silent lint", "go vet ./..."]
    for broken in ("", "{", "[]", '{"scripts": 3}', "\ud800"):
        assert list(project_checks({"package.json": broken}.get)) == []

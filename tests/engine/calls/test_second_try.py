"""After the sandbox stopped a command: what ran is said and not run again, and only what it lacked is opened."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.workspace.shell.started_parts import started_parts
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}
pytestmark = pytest.mark.usefixtures("bubblewrap")


def run(command: str, **more: object) -> dict[str, object]:
    return {"calls": [call("execute_command", command=command, **more)]}


@pytest.fixture
def outside() -> Iterator[Path]:
    """A directory that cannot be written from inside; not in /tmp, because commands inside have their own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        yield Path(directory)


def test_what_already_ran_is_said_and_only_the_rest_is_offered(workspace: Path, outside: Path) -> None:
    """Running all of `echo one >> f && …` again would write `one` twice."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        second = await stage.until_ask("command")
        assert second.text == f"touch {outside}/f && echo end"
        assert second.verdict is not None
        assert "Already done and is not run again: `echo one >> file`" in second.verdict.reason
        assert f"Letting it write in {outside} from the sandbox" in second.verdict.reason
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert "Exit code: 0" in tool_results(stage)[0].content

    play(workspace, [run(f"echo one >> file && touch {outside}/f && echo end"), DONE], story)
    assert (workspace / "file").read_text() == "one\n" and (outside / "f").exists()


@pytest.mark.parametrize("message", ["Read-only file system", "Permission denied: .mcp.json"])
def test_a_command_that_succeeds_is_not_offered_again_whatever_it_prints(workspace: Path, message: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    play(workspace, [run(f"sh -c 'echo {message} >&2'"), DONE], story)


def test_a_command_that_succeeds_without_a_refused_host_is_not_offered_again(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        told = tool_results(stage)[0].content
        assert "Exit code: 0" in told and "refused a connection to other.example" in told

    turns = [run("curl -sS http://other.example/ || true"), DONE]
    play(workspace, turns, story, settings={"sandbox": {"allowedHosts": ["ok.example"]}})


def test_only_the_directory_that_it_lacked_is_opened(workspace: Path, outside: Path) -> None:
    """The rest of the sandbox stays closed."""
    (outside / "cache").mkdir()
    (outside / "other").mkdir()
    (workspace / "tool.sh").write_text(f"echo x > {outside}/cache/f || exit 1; echo x > {outside}/other/f; exit 0\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        second = await stage.until_ask("command")
        assert second.verdict is not None
        assert f"{outside}/cache" in second.verdict.reason and "repeats" in second.verdict.reason
        assert second.verdict.rule == "sandbox" and not second.verdict.suggestions
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    play(workspace, [run("bash tool.sh"), DONE], story)
    assert (outside / "cache" / "f").exists() and not (outside / "other" / "f").exists()


def test_a_commit_after_other_work_is_made_inside_under_its_rule(workspace: Path) -> None:
    """Only git's data was missing, so the rest runs in the sandbox, and a rule for it answers the question."""
    for words in (["init", "-q"], ["config", "user.name", "S"], ["config", "user.email", "s@example.com"]):
        subprocess.run(["git", *words], cwd=workspace, check=True)
    (workspace / "work.sh").write_text("echo done >> log\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "Exit code: 0" in tool_results(stage)[0].content

    rules = ("Bash(bash work.sh)", "Bash(git add *)", "Bash(git commit *)")
    play(workspace, [run("bash work.sh && git add log && git commit -m logged"), DONE], story, allowed_tools=rules)
    assert (workspace / "log").read_text() == "done\n"
    log = subprocess.run(["git", "log", "--format=%s"], cwd=workspace, check=True, capture_output=True, text=True)
    assert log.stdout == "logged\n"


@pytest.mark.parametrize(
    "opened", ["/", "/etc", "/var", "*.com", "127.0.0.1", "../x", "/srv/../etc/ssh", "https://example.com"]
)
def test_a_model_cannot_have_just_anything_opened(workspace: Path, opened: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "The sandbox cannot let it" in tool_results(stage)[0].content

    play(workspace, [run("true", opened=[opened]), DONE], story)


@pytest.mark.parametrize(
    ("command", "started", "done", "rest"),
    [
        ("a && b && c", 2, ("a",), "b && c"),
        ("cd sub && a && b | c", 4, ("cd sub", "a"), "cd sub && b | c"),
        ("a; b", 2, ("a",), None),
        ("a || b", 2, ("a",), None),
        ("a && b", 1, (), None),
    ],
)
def test_what_is_left_of_a_chain(command: str, started: int, done: tuple[str, ...], rest: str | None) -> None:
    parts = started_parts(command, started)
    assert parts is not None and (parts.done, parts.rest) == (done, rest)


def test_a_chain_behaves_as_without_the_look_at_what_it_starts(workspace: Path) -> None:
    """What a command starts finds neither the trace nor the file that asked for it."""
    (workspace / "inner.sh").write_text('set -x; echo "[$BASH_ENV][$BASH_XTRACEFD][$SHELLOPTS]" | grep -c xtrace\n')

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        output = tool_results(stage)[0].content
        assert "+ grep -c xtrace" in output and "/proc/self/fd" not in output and "+ bash" not in output

    play(workspace, [run("true && bash inner.sh"), DONE], story, allowed_tools=("Bash",))

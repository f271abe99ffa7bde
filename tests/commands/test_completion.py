"""Completion of a prompt: slash commands, their arguments, files and other mentions."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.app.session import open_session
from robota.commands.session_commands import with_commands
from robota.config.launch_options import LaunchOptions
from robota.protocol.codec import decode_command, encode
from robota.protocol.commands import Accepted, CompletePrompt
from robota.protocol.completion import CandidateKind, PromptCompletion
from robota.protocol.slash_commands import CommandSource
from tests.cli.scripts import script, sessions
from tests.harness.cli import Robota

Complete = Callable[[str], PromptCompletion]


@pytest.fixture
def complete(workspace: Path, home: Path) -> Complete:
    """Completes a text whose caret is written as `|`, when all files are known."""

    def completed(text: str) -> PromptCompletion:
        return asyncio.run(_completed(workspace, home, text.replace("|", ""), text.index("|")))

    return completed


async def _completed(workspace: Path, home: Path, text: str, caret: int) -> PromptCompletion:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    opened = open_session(LaunchOptions(cwd=workspace, needs_model=False), env)
    try:
        session = with_commands(opened, env)
        while True:
            receipt = await session.submit(decode_command(encode(CompletePrompt(text=text, caret=caret))))
            assert isinstance(receipt, Accepted) and receipt.completion is not None
            if receipt.completion.is_complete:
                return receipt.completion
    finally:
        await opened.close()


def inserted(completion: PromptCompletion) -> list[str]:
    return [candidate.insert for candidate in completion.candidates]


def write(workspace: Path, *paths: str) -> None:
    for path in paths:
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text("x\n")


def test_a_slash_offers_every_command_with_its_source(complete: Complete) -> None:
    completion = complete("/|")
    by_name = {candidate.insert.strip(): candidate for candidate in completion.candidates}
    assert {"/help", "/mode", "/exit"} <= by_name.keys()
    assert by_name["/mode"].source is CommandSource.BUILT_IN
    assert by_name["/mode"].kind is CandidateKind.COMMAND
    assert by_name["/mode"].description


@pytest.mark.parametrize(
    ("typed", "first"),
    [("/mo|", "/mode "), ("/quit|", "/exit"), ("/prms|", "/permissions "), ("  /EXI|", "/exit"), ("/mo|xyz", "/mode ")],
)
def test_commands_are_found_by_beginnings_aliases_and_scattered_letters(
    complete: Complete, typed: str, first: str
) -> None:
    assert inserted(complete(typed))[0] == first


def test_the_whole_word_at_the_caret_is_replaced(complete: Complete) -> None:
    completion = complete("  /mo|xyz rest")
    assert (completion.start, completion.end) == (2, 8)
    assert inserted(completion)[0] == "/mode", "a space follows already"


def test_arguments_are_completed_from_sub_commands_and_values(complete: Complete, home: Path) -> None:
    assert inserted(complete("/mode arch|")) == ["architect"]
    assert "undo" in inserted(complete("/rewind |"))
    assert inserted(complete("/help permi|")) == ["permissions"]
    assert inserted(complete("/background stop |")) == ["all"]
    assert inserted(complete("/exit |")) == []


def test_text_that_is_no_command_is_not_completed(complete: Complete) -> None:
    assert complete("look at /etc|").candidates == ()
    assert complete("/etc/host|").candidates == ()
    assert complete("/nosuchcommand |").candidates == ()
    assert complete("|").candidates == ()


def test_files_are_found_by_name_path_and_letters(complete: Complete, workspace: Path) -> None:
    write(workspace, "src/session/store.py", "src/app.py", "docs/store-notes.md", "tests/test_store.py")
    completion = complete("why does @sto| fail")
    assert [candidate.label for candidate in completion.candidates] == [
        "src/session/store.py",
        "docs/store-notes.md",
        "tests/test_store.py",
    ]
    assert (completion.start, completion.end) == (9, 13)
    for before in ("", "(", "请看，", "「"):
        assert inserted(complete(f"{before}@src/s|"))[0] == "@src/session/"
    assert inserted(complete("@tsst|")) == ["@tests/test_store.py "]
    assert complete("@sto|").candidates[0].kind is CandidateKind.FILE


def test_an_at_sign_alone_offers_special_words_and_top_level_files(complete: Complete, workspace: Path) -> None:
    write(workspace, "src/deep/app.py", "README.md", ".github/ci.yml")
    offered = inserted(complete("see @|"))
    assert offered[:5] == ["@git-changes ", "@staged ", "@problems ", "@terminal ", "@session:"]
    assert {"@src/", "@README.md ", "@.github/"} <= set(offered)
    assert offered.index("@README.md ") < offered.index("@src/deep/app.py ")


def test_ignored_and_denied_files_are_never_offered(complete: Complete, workspace: Path) -> None:
    write(workspace, "open/plan.md", "hidden/plan.md", "built/plan.md", "denied/plan.md", ".git/plan.md")
    (workspace / ".robotaignore").write_text("hidden/\n")
    (workspace / ".gitignore").write_text("built/\n")
    settings = workspace / ".robota/settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"permissions": {"deny": ["Read(denied/**)"]}}')
    assert inserted(complete("@plan|")) == ["@open/plan.md "]
    assert inserted(complete("@denied|")) == []
    assert inserted(complete("@hidden|")) == []


def test_unusual_names_are_offered_as_valid_mentions(complete: Complete, workspace: Path) -> None:
    write(workspace, "odd my notes.txt", "odd staged", "odd:10", "odd what?", "odd\x1b[31mred", "odd\nline")
    assert set(inserted(complete("@odd|"))) == {
        '@"odd my notes.txt" ',
        '@"odd staged" ',
        '@"odd:10" ',
        '@"odd what?" ',
    }
    assert inserted(complete('@"odd my|')) == ['@"odd my notes.txt" ']
    assert inserted(complete("@odd\\ my|")) == ['@"odd my notes.txt" ']


def test_a_file_named_like_a_special_word_is_offered_as_a_path(complete: Complete, workspace: Path) -> None:
    write(workspace, "staged")
    assert inserted(complete("@stag|")) == ["@staged ", "@./staged "]


def test_other_sessions_are_offered_after_session(complete: Complete, workspace: Path, robota: Robota) -> None:
    script(robota, {"text": "Done."})
    assert robota("-p", "Why does it stutter?").code == 0
    [candidate] = complete("as in @session:|").candidates
    assert candidate.insert == f"@session:{sessions(robota)[0].name} "
    assert candidate.description == "Why does it stutter?"


def test_mail_addresses_are_no_mentions(complete: Complete, workspace: Path) -> None:
    write(workspace, "example.py")
    assert complete("write to me@exam|").candidates == ()


def test_a_caret_outside_the_text_counts_as_its_end(workspace: Path, home: Path) -> None:
    for caret in (-1, 99):
        completion = asyncio.run(_completed(workspace, home, "/mod", caret))
        assert inserted(completion)[0] == "/mode "


def test_a_new_file_is_offered(workspace: Path, home: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    write(workspace, "old.py")

    async def scenario() -> list[str]:
        env = {"HOME": str(home), "PATH": os.environ["PATH"]}
        opened = open_session(LaunchOptions(cwd=workspace, needs_model=False), env)
        try:
            session = with_commands(opened, env)
            await session.submit(CompletePrompt(text="@", caret=1))
            write(workspace, "brandnew.py")
            while True:
                receipt = await session.submit(CompletePrompt(text="@brandnew", caret=9))
                assert isinstance(receipt, Accepted) and receipt.completion is not None
                if receipt.completion.candidates:
                    return inserted(receipt.completion)
        finally:
            await opened.close()

    assert asyncio.run(asyncio.wait_for(scenario(), 60)) == ["@brandnew.py "]

"""Expands the mentions of a prompt with the files, commands and logs of a session."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.config.paths import user_directory
from robota.contracts.knowledge import CallTool, MentionedText, PromptNotSent
from robota.contracts.workspace import Files, Processes
from robota.knowledge.mentions.earlier_work import command_with_output, last_commands, session_summary
from robota.knowledge.mentions.expansion import MAX_CHARACTERS, MentionExpander, MentionTools
from robota.knowledge.mentions.lookup import path_kind
from robota.knowledge.mentions.project_checks import project_checks
from robota.knowledge.mentions.sources import MentionSources
from robota.log.errors import LogError
from robota.tools.files import list_files, read_file
from robota.tools.registry import SHELL_TOOL
from robota.tools.web import web_fetch
from robota.workspace.problems import FileProblem

if TYPE_CHECKING:
    from robota.log.catalogue.catalogue import CataloguedSession

MAX_CHECKED_FILES: Final = 200
MAX_FILE_BYTES: Final = 1024 * 1024
PORCELAIN_STATE: Final = len("XY ")


class MentionSession(msgspec.Struct, frozen=True, kw_only=True):
    """What mentions need of a session."""

    session_id: str
    log: Path
    root: Path
    kept_in: Path
    processes: Processes
    checks: tuple[str, ...]  # of the settings
    context_window: int
    env: Mapping[str, str]
    resource_tool: Callable[[str], str | None]  # by the name of an MCP server


async def expand_mentions(place: MentionSession, prompt: str, files: Files, call: CallTool) -> MentionedText:
    """The text and images to add to a prompt for its mentions."""
    tools = MentionTools(
        read_file=read_file.TOOL.name,
        list_files=list_files.TOOL.name,
        shell=SHELL_TOOL,
        web_fetch=web_fetch.TOOL.name,
        resource=place.resource_tool,
    )
    # A token has about four characters, so this is at most half of the context window.
    characters = min(MAX_CHARACTERS, 2 * place.context_window)
    expander = MentionExpander(tools, _sources(place, files), partial(path_kind, files), call, characters)
    return await expander.expand(prompt)


def _sources(place: MentionSession, files: Files) -> MentionSources:
    return MentionSources(
        checks=partial(_checks, place, files),
        syntax_errors=partial(_syntax_errors, place, files),
        terminal=partial(_terminal, place),
        session=partial(_session, place),
    )


async def _checks(place: MentionSession, files: Files) -> Sequence[str]:
    return place.checks or tuple(await asyncio.to_thread(lambda: tuple(project_checks(partial(_text, files)))))


def _text(files: Files, path: str) -> str | None:
    data = _data(files, path)
    return None if data is None else data.decode("utf-8", "replace")


def _data(files: Files, path: str) -> bytes | None:
    """The content of a file; None if the model must not read it or it cannot be read."""
    try:
        # The path may be a link to a file that is hidden from the model.
        is_kept = any(files.is_ignored(each) or files.is_secret(each) for each in (path, files.relative(path)))
        return None if is_kept else files.read(path, MAX_FILE_BYTES).data
    except (FileProblem, OSError, ValueError):
        return None


async def _syntax_errors(place: MentionSession, files: Files) -> str:
    from robota.workspace.text.syntax import check

    changed = (await _changed_files(place, files))[:MAX_CHECKED_FILES]
    lines = []
    for path in changed:
        data = _data(files, path)
        found = None if data is None else await asyncio.to_thread(check, path, None, data)
        if found is not None:
            lines.append(f"{path}:{found.line}:{found.column}: {found.problem}: {found.text}")
    output = f"{len(changed)} changed files were parsed"
    return (
        "\n".join((f"{output}; these have syntax errors:", *lines)) if lines else f"{output}; none has a syntax error."
    )


async def _changed_files(place: MentionSession, files: Files) -> list[str]:
    """The uncommitted files; without a repository, the files that this session read or wrote."""
    from robota.workspace.git.run import GitError, open_git

    try:
        git = await open_git(place.root, place.env)
        output = await git.run("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", ".")
        above = await git.line("rev-parse", "--show-prefix")
    except GitError:
        return sorted(files.stamps())
    paths = (entry[PORCELAIN_STATE:] for entry in output.split("\0") if entry)
    return [path.removeprefix(above) for path in paths]


async def _terminal(place: MentionSession) -> str:
    from robota.log.replay.present_records import present_records
    from robota.log.replay.transcript import transcript

    shown = await asyncio.to_thread(lambda: last_commands(transcript(present_records(place.log)), SHELL_TOOL))
    for each in place.processes.background:
        state = "has ended" if each.ending is not None else "is running"
        shown.append(command_with_output(f"{each.command}  # in the background as {each.id}, {state}", each.last_text))
    if not shown:
        raise PromptNotSent("no command has run in this session yet")
    return "\n\n".join(shown)


async def _session(place: MentionSession, wanted: str) -> str:
    try:
        return await asyncio.to_thread(_summary_of, place, wanted)
    except LogError as error:
        raise PromptNotSent(str(error)) from error


def _summary_of(place: MentionSession, wanted: str) -> str:
    from robota.log.catalogue.catalogue import catalogue
    from robota.log.catalogue.find import find_catalogued
    from robota.log.catalogue.places import project_places
    from robota.log.chain.reader import LOG_NAME
    from robota.log.replay.present_records import present_records
    from robota.log.replay.transcript import transcript

    user = user_directory(place.env)
    every = catalogue(project_places(place.kept_in, user), user, lambda output: None)
    found = find_catalogued([each for each in every if each.id != place.session_id], wanted)
    entries = transcript(present_records(found.directory / LOG_NAME))
    return f"{_heading(found)}\n\n{session_summary(entries, tuple(found.summary.files))}"


def _heading(session: "CataloguedSession") -> str:
    whose = "" if session.is_own else " It was not written on this machine."
    return f"Session {session.id}, {session.name or session.summary.title!r} ({session.state}).{whose}"

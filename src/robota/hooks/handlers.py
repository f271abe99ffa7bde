"""One handler and one event: the command is run or the server is asked, and the answer is read."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.contracts.hook import HookEvent, HookResult
from robota.hooks.answers import NoAnswer, answer_of_command, answer_of_text
from robota.hooks.definitions import CommandHandler, Handler, HttpHandler, timeout_of
from robota.workspace.process.filter_process import run_filter
from robota.workspace.process.guardian import Watch
from robota.workspace.process.programs import absolute_path

PROJECT_VARIABLES: Final = ("CLAUDE_PROJECT_DIR", "ROBOTA_PROJECT_DIR")
VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class HookInput(msgspec.Struct, frozen=True, kw_only=True):
    """What the handlers of a moment are told."""

    moment: HookEvent
    body: bytes


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Where handlers run. Hooks are the person's own, so they get the whole environment."""

    cwd: Path
    env: Mapping[str, str]
    watch: Watch


async def ask_handler(handler: Handler, event: HookInput, around: Surroundings) -> HookResult:
    """What it says, or `NoAnswer`."""
    if isinstance(handler, CommandHandler):
        return await _ask_command(handler, event, around)
    return await _ask_server(handler, event, around)


async def _ask_command(handler: CommandHandler, event: HookInput, around: Surroundings) -> HookResult:
    project = dict.fromkeys(PROJECT_VARIABLES, str(around.cwd))
    timeout_s = timeout_of(handler, event.moment)
    try:
        env = {**_with_absolute_path(around.env), **project}
        ended = await run_filter(_argv(handler, project), event.body, around.cwd, env, timeout_s, around.watch)
    except OSError as error:
        raise NoAnswer(f"it cannot be started: {error.strerror or error}") from error
    return answer_of_command(event.moment, ended)


def _with_absolute_path(env: Mapping[str, str]) -> dict[str, str]:
    """A hook runs in the project, which must not bring programs under the names of others."""
    return {**env, "PATH": absolute_path(env["PATH"])} if "PATH" in env else dict(env)


def _argv(handler: CommandHandler, project: Mapping[str, str]) -> str | tuple[str, ...]:
    if handler.args is not None:
        return tuple(_with_project(word, project) for word in (handler.command, *handler.args))
    return handler.command if handler.shell == "sh" else (handler.shell, "-c", handler.command)


def _with_project(word: str, project: Mapping[str, str]) -> str:
    """There is no shell that would do it."""
    for name, value in project.items():
        word = word.replace(f"${{{name}}}", value)
    return word


async def _ask_server(handler: HttpHandler, event: HookInput, around: Surroundings) -> HookResult:
    from robota.workspace.web.post import PostFailed, post_json

    allowed = {name: around.env.get(name, "") for name in handler.allowed_env_vars}
    headers = {name: _filled(value, allowed) for name, value in handler.headers.items()}
    try:
        text = await post_json(handler.url, headers, event.body, timeout_of(handler, event.moment))
    except PostFailed as problem:
        raise NoAnswer(str(problem)) from problem
    return answer_of_text(event.moment, text)


def _filled(value: str, allowed: Mapping[str, str]) -> str:
    """A header with the variables the person named; no other part of the environment leaves the machine."""
    # A header must not end with blanks, as the content of a variable often does.
    return VARIABLE.sub(lambda found: allowed.get(found[1] or found[2], "").strip(), value).strip()

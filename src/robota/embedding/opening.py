"""Open a session in this process or in a process of its own, or connect to one that is running."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.embedding.options import SessionOptions
from robota.protocol.connection.ask_dispatcher import AskHandler

if TYPE_CHECKING:
    from robota.app.session import OpenSession
    from robota.config.launch_options import LaunchOptions
    from robota.embedding.additions import Embedding
    from robota.embedding.session import AgentSession
    from robota.protocol.port import SessionPort

CLIENT: Final = "robota.sdk"


@asynccontextmanager
async def open_session(
    options: SessionOptions | None = None,
    *,
    on_ask: AskHandler | None = None,
    embedding: "Embedding | None" = None,
    resume: str | None = None,
    env: Mapping[str, str] | None = None,
) -> "AsyncIterator[AgentSession]":
    """Open a session in this process, and close it at the end.

    Raises `ConfigError` or `LogError` before anything has happened.

    `on_ask` answers the questions of the agent; `embedding` is what this program adds to the session; `resume` is the
    id of an earlier session to continue; `env` replaces the environment variables of the process. Notices about the
    start go to the logger `robota`.
    """
    from robota.commands.session_commands import with_commands

    variables = os.environ if env is None else env
    opened = _opened(options or SessionOptions(), embedding, resume, variables)
    try:
        for notice in opened.notices:
            _log(notice)
        await opened.resume()
        async with _followed(with_commands(opened, variables, CLIENT), on_ask) as session:
            yield session
    finally:
        await opened.close()


@asynccontextmanager
async def start_process(
    options: SessionOptions | None = None,
    *,
    on_ask: AskHandler | None = None,
    resume: str | None = None,
    env: Mapping[str, str] | None = None,
) -> "AsyncIterator[AgentSession]":
    """Open a session in a process of its own, which ends with it. Raises `ConfigError` if it cannot start."""
    from robota.embedding.child_process import served_session

    variables = os.environ if env is None else env
    async with (
        served_session(options or SessionOptions(), resume, variables, CLIENT) as port,
        _followed(port, on_ask) as session,
    ):
        yield session


@asynccontextmanager
async def attach_session(
    session: str | None = None, *, on_ask: AskHandler | None = None, env: Mapping[str, str] | None = None
) -> "AsyncIterator[AgentSession]":
    """Connect to a session that is running in another process of this user, by id, id prefix or name.

    It keeps running afterwards. Without a name, it is the one of the current directory. Raises `ConnectionError`.
    """
    from robota.config.paths import user_directory
    from robota.transport.doors import DIRECTORY
    from robota.transport.entering import enter
    from robota.transport.running_sessions import find_running

    directory = user_directory(os.environ if env is None else env) / DIRECTORY
    running = await find_running(directory, session, Path.cwd())
    port, _ = await enter(directory, running.id, CLIENT)
    try:
        async with _followed(port, on_ask) as attached:
            yield attached
    finally:
        await port.close()


def _opened(
    options: SessionOptions, embedding: "Embedding | None", resume: str | None, env: Mapping[str, str]
) -> "OpenSession":
    from robota.app.session import open_session as opened_session
    from robota.config.launch_options import Additions, LaunchOptions, PromptAuthor

    # The program knows whose texts it sends; nobody else does.
    launch = LaunchOptions(
        **msgspec.structs.asdict(options), additions=embedding or Additions(), prompt_author=PromptAuthor.ANYBODY
    )
    return opened_session(launch if resume is None else _resuming(launch, resume, env), env)


def _resuming(launch: "LaunchOptions", name: str, env: Mapping[str, str]) -> "LaunchOptions":
    """The options to continue a session of this directory. Raises `LogError`."""
    from robota.config.launch_options import workspace_root
    from robota.config.paths import user_directory
    from robota.log.catalogue.catalogue import catalogue
    from robota.log.catalogue.find import find_catalogued
    from robota.log.catalogue.places import project_places
    from robota.log.errors import SessionNotFound

    user = user_directory(env)
    session = find_catalogued(catalogue(project_places(workspace_root(launch.cwd), user), user, _log), name)
    if not session.is_own:
        raise SessionNotFound(
            f"The session {session.id} was not written on this machine in this directory, so it was not resumed. "
            f"To resume it anyway: robota --resume {session.id} --yes"
        )
    return msgspec.structs.replace(launch, resumes=session.directory, session_id=None)


def _log(notice: str) -> None:
    getLogger("robota").warning("%s", notice)


@asynccontextmanager
async def _followed(port: "SessionPort", on_ask: AskHandler | None) -> "AsyncIterator[AgentSession]":
    from robota.embedding.session import AgentSession

    session = AgentSession(port, on_ask)
    try:
        await session.until_open()
        yield session
    finally:
        await session.close()

"""The agents of a session: their definitions from files, plugins and Robota itself, and a log for each that runs."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.launch_options import Additions, LaunchOptions
from robota.config.paths import known_home, user_directory
from robota.config.settings.load import Settings
from robota.contracts.agent import AgentDefinition
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import SessionLog
from robota.log.errors import LogExists
from robota.log.new_session import begin_session
from robota.log.store import check_session_id

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from robota.engine.runtime.agent_service import AgentAddress, AgentLog, AgentProcess, ProcessWanted
    from robota.engine.runtime.options import Options
    from robota.extensions.plugins.active import ActivePlugin

AGENTS: Final = "agents"
OWNERS: Final = (".robota", ".agents", ".claude")
# What agent files for Claude Code call the models of Anthropic.
CLAUDE_MODELS: Final = {"sonnet": "claude-sonnet-4-6", "haiku": "claude-haiku-4-5", "opus": "claude-opus-4-6"}
# An id may have 128 characters, and the agent adds some.
MAX_PARENT_ID: Final = 100


def agent_definitions(
    settings: Settings,
    plugins: "Sequence[ActivePlugin]",
    root: Path,
    env: Mapping[str, str],
    added: Sequence[AgentDefinition] = (),
) -> tuple[AgentDefinition, ...]:
    """All agents by precedence, each name once: `added` by a program, project, user, plugins, built in."""
    from robota.knowledge.agents.built_in import BUILT_IN_AGENTS

    definitions = _from_files(settings, plugins, root, env) if _has_files(settings, plugins, env) else []
    named: dict[str, AgentDefinition] = {}
    for definition in (*added, *definitions, *BUILT_IN_AGENTS):
        named.setdefault(definition.name.lower(), definition)
    return tuple(named.values())


def _has_files(settings: Settings, plugins: "Sequence[ActivePlugin]", env: Mapping[str, str]) -> bool:
    """Whether there may be files of agents; if not, the modules that read them are not loaded."""
    trusted = settings.trust.snapshot.sources if settings.trust is not None and settings.is_trusted else ()
    home = known_home(env)
    own = (user_directory(env) / AGENTS, *(() if home is None else (home / owner / AGENTS for owner in OWNERS[1:])))
    return (
        any(source.path.split("/")[1:2] == [AGENTS] for source in trusted)
        or any(directory.is_dir() for directory in own)
        or any(plugin.contents.agents for plugin in plugins)
    )


def _from_files(
    settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> list[AgentDefinition]:
    from robota.app.knowledge.markdown_files import markdown_files
    from robota.knowledge.agents.definition_file import MAX_BYTES, agent_definition

    files = markdown_files(settings, AGENTS, OWNERS, root, env, MAX_BYTES)
    definitions = [agent_definition(path, data) for path, data in files]
    for plugin in plugins:
        for each in plugin.contents.agents:
            path = str(plugin.root / each.source.path)
            definitions.append(agent_definition(path, each.source.data or b"", plugin.name))
    return definitions


def as_agent(
    options: "Options",
    launch: LaunchOptions,
    settings: Settings,
    plugins: "Sequence[ActivePlugin]",
    root: Path,
    env: Mapping[str, str],
) -> "Options":
    """The options of a session that works as the agent of `launch`. Raises `ConfigError` if there is none."""
    definitions = agent_definitions(settings, plugins, root, env, launch.additions.agents)
    definition = find_definition(definitions, launch.agent or "")
    if definition is None:
        names = ", ".join(each.name for each in definitions)
        raise ConfigError(f"There is no agent {launch.agent!r}. Nothing was started. There are: {names}.")
    named = None if launch.model is not None else definition.model
    return msgspec.structs.replace(
        options,
        agent=definition,
        model=(named and model_named(named, options.model)) or options.model,
        own_requests=definition.max_turns,
    )


def find_definition(definitions: Sequence[AgentDefinition], name: str) -> AgentDefinition | None:
    """Names are compared without case; the full name of an agent comes before the short one of another."""
    wanted = name.lower()
    full = next((each for each in definitions if each.name.lower() == wanted), None)
    short = (each for each in definitions if each.name.lower().partition(":")[2] == wanted)
    return full or next(short, None)


def model_named(name: str, session_model: str) -> str | None:
    """The names of Claude Code mean a model only where the session uses one of Anthropic; None: that of the session."""
    if name not in CLAUDE_MODELS:
        return name
    return CLAUDE_MODELS[name] if session_model.startswith("claude-") else None


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The session that starts agents, and what an embedding program adds to it."""

    id: str
    log: SessionLog
    root: Path
    kept_in: Path
    model: str
    additions: Additions = Additions()


class SessionAgents:
    """The `AgentService` of a session."""

    def __init__(
        self, settings: Settings, plugins: "Sequence[ActivePlugin]", env: Mapping[str, str], session: SessionFacts
    ) -> None:
        self._settings = settings
        self._plugins = plugins
        self._env = env
        self._session = session
        self.max_depth = settings.values.agents.max_depth
        self.max_running = settings.values.agents.max_running
        self.idle_s = settings.values.agents.idle_seconds
        # What an embedding program adds to its sessions, another process does not have.
        self.own_processes = settings.values.agents.own_processes and not session.additions.are_needed_everywhere

    @cached_property
    def _definitions(self) -> tuple[AgentDefinition, ...]:
        return agent_definitions(
            self._settings, self._plugins, self._session.root, self._env, self._session.additions.agents
        )

    def definitions(self) -> Sequence[AgentDefinition]:
        """Read once, so that the list in the system prompt stays true for the whole session."""
        return self._definitions

    def find(self, name: str) -> AgentDefinition | None:
        """The agent of that name."""
        return find_definition(self._definitions, name)

    def model_named(self, name: str) -> str | None:
        """The model that an agent file means."""
        return model_named(name, self._session.model)

    def open_log(self, agent_id: str) -> "AgentLog":
        """Create the log of an agent. Its timestamps continue those of the session, so that no two rows share one."""
        id = f"{self._session.id[:MAX_PARENT_ID]}.{agent_id}"
        with suppress(LogExists):  # of an agent that a rewind undid
            return self._begin(id)
        return self._begin(f"{id}-{os.urandom(3).hex()}")

    def address(self, agent_id: str) -> "AgentAddress":
        """Where the log of an agent will be. The id is that of no session."""
        id = f"{self._session.id[:MAX_PARENT_ID]}.{agent_id}"
        is_taken = self._directory(id).exists()  # of an agent that a rewind undid
        return self.known_address(f"{id}-{os.urandom(3).hex()}" if is_taken else id)

    def known_address(self, session_id: str) -> "AgentAddress":
        """Where the log of an earlier agent is."""
        from robota.engine.runtime.agent_service import AgentAddress

        return AgentAddress(session_id=session_id, log_path=self._directory(session_id) / LOG_NAME)

    def process(self, wanted: "ProcessWanted") -> "AbstractAsyncContextManager[AgentProcess]":
        """Run a process for a turn of an agent."""
        from robota.app.agent_processes import process_for

        return process_for(wanted, self._settings, self._session.root, self._session.kept_in, self._env)

    def _directory(self, session_id: str) -> Path:
        """The directory of a session beside that of this one. Raises `InvalidSessionId`."""
        check_session_id(session_id)
        return self._session.log.path.parent.parent / session_id

    def _begin(self, id: str) -> "AgentLog":
        from robota.engine.runtime.agent_service import AgentLog

        user = user_directory(self._env)
        new = begin_session(self._session.kept_in, user, self._session.log.next_ts, id, self._session.log.redactor)
        if self._settings.values.kept_output_bytes is not None:
            new.log.limit_outputs(self._settings.values.kept_output_bytes)
        return AgentLog(session_id=new.id, log=new.log, close=new.log.close)

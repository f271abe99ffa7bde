"""System prompts and tools of every kind of session, built from a real task without a request for each."""

import asyncio
import sys
from collections.abc import Iterator
from datetime import date
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from robota.app.session import open_session
from robota.app.tools import session_tools
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.config.settings.schema import Completion
from robota.contracts.agent import AgentDefinition, AgentIdentity
from robota.contracts.workspace import CommandReach, KnownReach
from robota.engine.model.reply import CallFormat, NativeCallFormat
from robota.engine.model.system_prompt import ModePrompt, mode_prompt
from robota.engine.model.xml_calls import XmlCallFormat
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.knowledge.agents.built_in import BUILT_IN_AGENTS
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import EditFormat
from tests.engine.stage import Stage

DAY = "2026-01-31"
MODES = ("code", "architect", "ask", "debug", "orchestrator")
REACHES = {
    "sandbox": CommandReach(is_sandboxed=True, hosts=()),
    "some hosts": CommandReach(is_sandboxed=True, hosts=("docs.example",)),
    "none works": CommandReach(lacks_sandbox=True),
    "off": CommandReach(),
}
FORMATS: dict[str, CallFormat] = {"native": NativeCallFormat(), "xml": XmlCallFormat()}


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of session."""

    mode: str = "code"
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    attended: bool = True
    reach: str = "sandbox"
    call_format: str = "native"
    edit_format: EditFormat = EditFormat.REPLACE
    completion: Completion = Completion.IMPLICIT
    is_subtask: bool = False
    agent: str | None = None  # one of the built-in agents, which are subtasks


def kinds() -> Iterator[Kind]:
    """Every mode in every permission mode, attended or not, with every sandbox, in both formats of calls; and more."""
    for mode, permission_mode, attended, reach, form in product(MODES, PermissionMode, (True, False), REACHES, FORMATS):
        yield Kind(mode=mode, permission_mode=permission_mode, attended=attended, reach=reach, call_format=form)
    for mode, edit_format, completion, is_subtask, attended in product(
        MODES, EditFormat, Completion, (True, False), (True, False)
    ):
        yield Kind(mode=mode, edit_format=edit_format, completion=completion, is_subtask=is_subtask, attended=attended)
    yield from agents()


def agents() -> Iterator[Kind]:
    """Every agent that needs no file, in every permission mode of the session."""
    for agent, permission_mode, attended in product(BUILT_IN_AGENTS, PermissionMode, (True, False)):
        yield Kind(agent=agent.name, permission_mode=permission_mode, attended=attended)


def prompt_of(runtime: TaskRuntime, kind: Kind) -> ModePrompt:
    """The prompt and tools of such a session, as if it were at /project on Linux on a certain day."""
    services, options = runtime.services, runtime.options
    info = msgspec.structs.replace(services.model.info, edit_format=kind.edit_format)
    changed = msgspec.structs.replace(
        runtime,
        agent=next((_identity(each) for each in BUILT_IN_AGENTS if each.name == kind.agent), None),
        mode=kind.mode,
        permission_mode=kind.permission_mode,
        agent_type=kind.agent or (kind.mode if kind.is_subtask else None),
        options=msgspec.structs.replace(
            options,
            launch=msgspec.structs.replace(options.launch, attended=kind.attended),
            completion=kind.completion,
        ),
        services=msgspec.structs.replace(
            services,
            reach=KnownReach(REACHES[kind.reach]),
            tools=session_tools(None, has_sandbox=kind.reach != "off" and kind.attended),
            model=msgspec.structs.replace(services.model, info=info),
        ),
    )
    head = mode_prompt(changed, FORMATS[kind.call_format])
    system = head.system.replace(str(options.cwd), "/project")
    system = system.replace(f"Platform: {sys.platform}. Date: {date.today()}.", f"Platform: linux. Date: {DAY}.")
    return msgspec.structs.replace(head, system=system)


def _identity(definition: AgentDefinition) -> AgentIdentity:
    return AgentIdentity(id="agent_1", name="", definition=definition, depth=1)


@cache
def real_runtime(workspace: Path) -> TaskRuntime:
    """The runtime of a task that was answered in words."""
    profile = Profile(type="scripted", name="script", model="scripted", options={"turns": [{"text": "Hi."}]})
    found: list[TaskRuntime] = []

    async def run() -> None:
        launch = LaunchOptions(cwd=workspace, profile=profile)
        opened = open_session(launch, {"ROBOTA_HOME": str(workspace.parent / "robota-home")})
        try:
            stage = Stage(opened)
            await stage.start()
            await stage.until_ask("completion_result")
            task: Any = opened.session._runner.current
            found.append(task.runtime)
        finally:
            await opened.close()

    asyncio.run(run())
    return found[0]


def tokens(text: str) -> int:
    """As everywhere in Robota: four characters are a token."""
    return round(len(text) / 4)


def sections_of(system: str) -> dict[str, str]:
    """The sections of a prompt by heading; what comes before the first is the identity."""
    first, *others = system.split("\n\n# ")
    return {"Identity": first, **{each.partition("\n")[0]: f"\n\n# {each}" for each in others}}

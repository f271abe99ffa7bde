"""What `/intents` and `robota intents` work with."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.app.intents import IntentPlace, place_of_intents, session_leases, timestamp
from robota.config.launch_options import LaunchOptions, workspace_root
from robota.config.paths import user_directory

if TYPE_CHECKING:
    from robota.app.session import OpenSession
    from robota.commands.intent_upkeep import IntentUpkeep, RanCriterion
    from robota.contracts.hook import SessionHooks
    from robota.engine.calls.executor import Executed


def upkeep_of_session(opened: "OpenSession", env: Mapping[str, str]) -> "IntentUpkeep":
    """For a conversation: its rules hold for criteria, too."""
    options = opened.options
    launch = LaunchOptions(cwd=options.cwd, kept_in=opened.kept_in, permission_mode=options.permission_mode)
    return intent_upkeep(launch, env)


def intent_upkeep(launch: LaunchOptions, env: Mapping[str, str]) -> "IntentUpkeep":
    """For a workspace. Raises `ConfigError`."""
    from robota.commands.intent_upkeep import IntentUpkeep
    from robota.intents.intent_files import IntentFiles
    from robota.intents.upkeep.criteria import CriterionRuns
    from robota.log.catalogue.places import project_places, session_directories
    from robota.log.chain.reader import LOG_NAME

    here = workspace_root(launch.cwd)
    place = place_of_intents(here) or IntentPlace(home=here, top=here)
    root, home = place.top, place.home
    launch = msgspec.structs.replace(launch, cwd=root)  # criteria are written for the top
    user = user_directory(env)

    def logs() -> Iterable[Path]:
        for place in project_places(launch.kept_in or root, user):
            yield from (place.directory / name / LOG_NAME for name in session_directories(place))

    async def run(commands: Sequence[str]) -> "Sequence[RanCriterion]":
        return await _run(launch, env, commands)

    return IntentUpkeep(
        files=IntentFiles(root, home),
        runs=CriterionRuns(home, user),
        leases=session_leases(root, f"upkeep-{os.getpid()}", user),
        logs=logs,
        run=run,
        timestamp=timestamp,
    )


async def _run(launch: LaunchOptions, env: Mapping[str, str], commands: Sequence[str]) -> "list[RanCriterion]":
    """Run commands one after the other, judged, confined and logged as in a session of their own.

    The hooks of the intent layer stay away: they guard what agents do, and this is a person's order.
    """
    from robota.app.session import open_session
    from robota.engine.calls.single_call import run_call
    from robota.tools.registry import SHELL_TOOL

    alone = msgspec.structs.replace(launch, needs_model=False, attended=False, name="acceptance criteria")
    opened = open_session(alone, env)
    services = msgspec.structs.replace(opened.services, hooks=_without_intents(opened.services.hooks))
    try:
        return [
            _ran(command, await run_call(opened.options, services, SHELL_TOOL, {"command": command}))
            for command in commands
        ]
    finally:
        await opened.close()


def _without_intents(hooks: "SessionHooks") -> "SessionHooks":
    from robota.intents.scope_enforcement import ScopeEnforcementHook
    from robota.intents.trace_writer import TraceWriterHook

    kinds = (ScopeEnforcementHook, TraceWriterHook)
    return msgspec.structs.replace(
        hooks,
        before=tuple(each for each in hooks.before if not isinstance(each, kinds)),
        after=tuple(each for each in hooks.after if not isinstance(each, kinds)),
        context=None,
    )


def _ran(command: str, executed: "Executed") -> "RanCriterion":
    from robota.commands.intent_upkeep import RanCriterion
    from robota.protocol.views import TerminalView

    view = executed.result.view
    if executed.status == "denied":
        return RanCriterion(command=command, passed=None, why=executed.reason or "it is not allowed")
    passed = isinstance(view, TerminalView) and view.exit_code == 0 and not executed.result.is_error
    return RanCriterion(
        command=command, passed=passed, why="" if passed else " ".join(executed.result.content[-500:].split())
    )

"""Builds the `IntentAccess` for `/intents` and `robota intents`."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.app.intents import IntentPlace, place_of_intents, session_leases, timestamp, trace_killed_sessions
from robota.config.launch_options import LaunchOptions, workspace_root
from robota.config.paths import user_directory
from robota.contracts.services import PolicyService
from robota.contracts.tool import Touches
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.protocol.permission_mode import PermissionMode

UNGUARDED = " This session was started without intents and is not guarded by them. Leave it and resume it: robota -c."

if TYPE_CHECKING:
    from robota.app.session import OpenSession
    from robota.commands.builtin.intents import IntentAccess, RanCriterion
    from robota.contracts.hook import SessionHooks
    from robota.engine.calls.executor import Executed


def session_intents(opened: "OpenSession", env: Mapping[str, str]) -> "IntentAccess":
    """The intents for a conversation; criteria run in its permission mode."""
    options = opened.options
    launch = LaunchOptions(cwd=options.cwd, kept_in=opened.kept_in, permission_mode=options.permission_mode)
    intents = workspace_intents(launch, env)
    is_guarded = opened.services.hooks.context is not None
    return intents if is_guarded else msgspec.structs.replace(intents, caveat=UNGUARDED)


def workspace_intents(
    launch: LaunchOptions, env: Mapping[str, str], *, approved: Collection[str] = ()
) -> "IntentAccess":
    """The intents for a shell. The user has approved the criteria in `approved`. Raises `ConfigError`."""
    from robota.commands.builtin.intents import IntentAccess
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
        return await _run(launch, env, commands, approved)

    return IntentAccess(
        files=IntentFiles(root, home),
        runs=CriterionRuns(home, user),
        leases=session_leases(root, f"upkeep-{os.getpid()}", user),
        logs=logs,
        run=run,
        timestamp=timestamp,
        complete_trace=lambda: trace_killed_sessions(place, env),
    )


async def _run(
    launch: LaunchOptions, env: Mapping[str, str], commands: Sequence[str], approved: Collection[str]
) -> "list[RanCriterion]":
    """Run commands one after the other in a session of their own.

    Without the hooks of the intent layer: they guard agents, and this is a request of the user.
    """
    from robota.app.tool_call import session_for_calls
    from robota.engine.calls.single_call import run_call
    from robota.tools.command.execute_command import MAX_TIMEOUT_S
    from robota.tools.registry import SHELL_TOOL

    async with session_for_calls(launch, env, "acceptance criteria") as opened:
        services = msgspec.structs.replace(
            opened.services,
            hooks=_without_intents(opened.services.hooks),
            policy=_ApprovedCommands(opened.services.policy, frozenset(approved)),
        )
        return [
            _criterion_result(
                command,
                await run_call(opened.options, services, SHELL_TOOL, {"command": command, "timeout": MAX_TIMEOUT_S}),
            )
            for command in commands
        ]


class _ApprovedCommands:
    """The policy of a session in which the user has approved these commands; what it denies stays denied.

    They are compared as text, because a rule cannot express every command.
    """

    def __init__(self, policy: PolicyService, commands: frozenset[str]) -> None:
        self._policy = policy
        self._commands = commands

    def judge(
        self, subject: Subject, mode: PermissionMode, grants: Sequence[str], denials: Sequence[str] = ()
    ) -> Verdict:
        verdict = self._policy.judge(subject, mode, grants, denials)
        command = subject.touches.command
        if (
            verdict.decision is Decision.ASK
            and command in self._commands
            and subject.touches == Touches(command=command)
        ):
            return Verdict(decision=Decision.ALLOW, reason="The user approved this criterion.", rule="criterion")
        return verdict

    def decline(self, verdict: Verdict, subject: Subject) -> Verdict:
        return self._policy.decline(verdict, subject)

    def remember(self, scope: str, rules: Sequence[str]) -> str:
        return self._policy.remember(scope, rules)


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


def _criterion_result(command: str, executed: "Executed") -> "RanCriterion":
    from robota.app.tool_call import command_passed
    from robota.commands.builtin.intents import RanCriterion

    if executed.status == "denied":
        return RanCriterion(command=command, passed=None, why=executed.reason or "it is not allowed")
    passed = command_passed(executed)
    return RanCriterion(
        command=command, passed=passed, why="" if passed else " ".join(executed.result.content[-500:].split())
    )

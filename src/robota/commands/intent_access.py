"""The intents of a workspace, for the verbs of intents."""

import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.app.intents import IntentDirectories, intent_directories, trace_killed_sessions
from robota.commands.verb_host import VerbHost
from robota.config.launch_options import LaunchOptions
from robota.config.paths import user_directory
from robota.contracts.services import PolicyService
from robota.contracts.tool import Touches
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.intents.intent import Intent, IntentProblem
from robota.intents.intent_files import IntentFiles
from robota.intents.leases import LeaseBook, repository_leases
from robota.intents.trace_file import trace_lines
from robota.intents.trace_record import timestamp
from robota.intents.upkeep.criteria import CriterionRuns
from robota.intents.upkeep.intent_map import map_text, write_map
from robota.intents.upkeep.traced_intents import TracedIntent, traced_intents
from robota.log.catalogue.places import project_places, session_directories
from robota.log.chain.reader import LOG_NAME
from robota.protocol.permission_mode import PermissionMode
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.contracts.hook import SessionHooks
    from robota.engine.calls.executor import Executed
    from robota.workspace.confinement import Confinement

UNGUARDED: Final = (
    " This session was started without intents and is not guarded by them. Leave it and resume it: robota -c."
)


class RanCriterion(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a criterion; `passed` is None if it was not allowed to run."""

    command: str
    passed: bool | None
    why: str = ""

    @property
    def word(self) -> str:
        return "not run" if self.passed is None else "passed" if self.passed else "failed"


class CannotBeDone(IntentProblem):
    """The request does not fit the intents, which are valid."""


class IntentAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The intents of a workspace. `run` runs commands under its policy and in its sandbox.

    `complete_trace` adds what killed sessions changed. `caveat` is added to what is said of new and started intents.
    """

    files: IntentFiles
    runs: CriterionRuns
    leases: LeaseBook
    logs: Callable[[], Iterable[Path]]
    run: Callable[[Sequence[str]], Awaitable[Sequence[RanCriterion]]]
    timestamp: Callable[[], str]
    complete_trace: Callable[[], None]
    caveat: str = ""

    def find(self, id: str) -> Intent:
        """The intent with this id. Raises `IntentProblem`."""
        intents = self.files.intents()
        intent = next((each for each in intents if each.id == id), None)
        if intent is None:
            ids = ", ".join(each.id for each in intents) or "none"
            raise CannotBeDone(f"There is no intent {single_line(id, 80)}. Available: {ids}")
        return intent

    def traced(self) -> dict[str, TracedIntent]:
        """The intents by the trace; empty if it cannot be read."""
        self.complete_trace()
        try:
            return traced_intents(trace_lines(self.files.home))
        except OSError:
            return {}

    def draw_map(self) -> str:
        text = map_text(self.files.intents(), self.traced())
        write_map(self.files.home, text)
        return text


def open_intents(host: VerbHost, approved: Collection[str] = ()) -> IntentAccess:
    """The intents of a workspace. The user has approved the criteria in `approved`. Raises `ConfigError`."""
    directories = intent_directories(host.root) or IntentDirectories(home=host.root, top=host.root)
    root, home = directories.top, directories.home
    launch = msgspec.structs.replace(host.launch, cwd=root)  # criteria are written for the top
    user = user_directory(host.env)
    is_guarded = host.opened is None or host.opened.services.hooks.context is not None

    def logs() -> Iterable[Path]:
        for sessions in project_places(launch.kept_in or root, user):
            yield from (sessions.directory / name / LOG_NAME for name in session_directories(sessions))

    return IntentAccess(
        files=IntentFiles(root, home),
        runs=CriterionRuns(home, user),
        leases=repository_leases(root, f"upkeep-{os.getpid()}", user),
        logs=logs,
        run=partial(_run, launch, host.env, approved=approved),
        timestamp=timestamp,
        complete_trace=lambda: trace_killed_sessions(directories, host.env),
        caveat="" if is_guarded else UNGUARDED,
    )


async def _run(
    launch: LaunchOptions, env: Mapping[str, str], commands: Sequence[str], approved: Collection[str]
) -> list[RanCriterion]:
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
        self,
        subject: Subject,
        mode: PermissionMode,
        grants: Sequence[str],
        denials: Sequence[str] = (),
        confinement: "Confinement | None" = None,
    ) -> Verdict:
        verdict = self._policy.judge(subject, mode, grants, denials, confinement)
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


def _criterion_result(command: str, executed: "Executed") -> RanCriterion:
    from robota.app.tool_call import command_passed

    if executed.status == "denied":
        return RanCriterion(command=command, passed=None, why=executed.reason or "it is not allowed")
    passed = command_passed(executed)
    return RanCriterion(
        command=command, passed=passed, why="" if passed else " ".join(executed.result.content[-500:].split())
    )

"""A policy for inspection: judges calls by the rules of the settings or of one file."""

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.app.policy import permissions_policy, settings_policy
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.settings.layers import Layer, check_layer, read_layer
from robota.config.settings.load import load_settings, refuse_errors
from robota.config.settings.schema import Permissions, SettingsFile
from robota.contracts.hook import BlockCall
from robota.contracts.tool import AnyTool, BadArguments, ToolCall
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.log.catalogue.places import project_places
from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import LogError
from robota.log.record import Record
from robota.policy.decide import SessionPolicy
from robota.policy.shell.confined_command import UNPROVEN
from robota.policy.testing.replay import RecordedCall
from robota.protocol.permission_mode import PermissionMode
from robota.tools.registry import builtin_tools, by_name

WHERE_CONFINED: Final = "confined mode allows commands where the sandbox confines them and they can be undone."
INTENT_SCOPE: Final = "intent scope"


class PolicyBench(msgspec.Struct, frozen=True, kw_only=True):
    """Judges calls as a session would, and runs nothing."""

    policy: SessionPolicy
    tools: dict[str, AnyTool]
    default_mode: PermissionMode = PermissionMode.DEFAULT

    @classmethod
    def open(
        cls, cwd: Path, env: Mapping[str, str], rules: Path | None, permissions: Permissions | None = None
    ) -> "PolicyBench":
        """Use the rules of one settings file, or these permissions, or the settings that a session has here.

        In the first two cases the workspace counts as trusted and the sandbox as working, so that the result is the
        same on every machine.
        """
        root = cwd.resolve()
        if rules is not None:
            permissions = _permissions_of(rules)
        if permissions is not None:
            policy, mode = permissions_policy(permissions, root, env), permissions.default_mode
        else:
            settings = load_settings(root, env)
            refuse_errors(settings)
            policy, mode = settings_policy(settings, root, env), settings.values.permissions.default_mode
        return cls(policy=policy, tools=by_name(builtin_tools()), default_mode=mode or PermissionMode.DEFAULT)

    def judge(
        self, name: str, arguments: dict[str, Any], mode: PermissionMode | None, grants: Sequence[str] = ()
    ) -> Verdict:
        """The verdict about a call; `ConfigError` if there is no such tool or the arguments do not fit it."""
        tool = self.tools.get(name)
        if tool is None:
            names = ", ".join(sorted({tool.name for tool in self.tools.values()}))
            raise ConfigError(f"There is no tool {name!r}. The tools are: {names}. Nothing was evaluated.")
        try:
            params = tool.decode(arguments)
        except BadArguments as error:
            raise ConfigError(f"{error} Nothing was evaluated.") from error
        return self._judged(self._subject(tool, params), mode or self.default_mode, grants)

    def judge_for_intent(self, intent: str, name: str, arguments: dict[str, Any], verdict: Verdict) -> Verdict:
        """The verdict if an agent has selected that intent; `ConfigError` if it cannot be selected."""
        from robota.app.intents import judge_scope
        from robota.intents.refusal import message_of
        from robota.intents.selection import IntentRefused

        call = ToolCall(id="policy-test", name=name, input=arguments)
        try:
            by_scope = asyncio.run(judge_scope(self.policy, intent, self.tools[name], call))
        except IntentRefused as refused:
            problem = f"The intent {intent!r} cannot be selected: {message_of(str(refused))} Nothing was evaluated."
            raise ConfigError(problem) from refused
        if isinstance(by_scope, BlockCall):
            return Verdict(decision=Decision.DENY, reason=by_scope.reason, rule=INTENT_SCOPE)
        if by_scope.ask_reason is None or verdict.decision is Decision.DENY:
            return verdict
        return Verdict(decision=Decision.ASK, reason=by_scope.ask_reason, rule=INTENT_SCOPE)

    def judge_again(
        self, call: RecordedCall, mode: PermissionMode | None, grants: Sequence[str] = ()
    ) -> Verdict | None:
        """The verdict about a recorded call; None if the tool is gone or has other parameters now.

        A command counts as confined: whether it was could only be proven when it ran.
        """
        try:
            verdict = self.judge(call.tool, call.input or {}, mode or call.permission_mode, grants)
        except (ConfigError, ValueError):
            return None
        if verdict.decision is not Decision.ASK or not verdict.reason.endswith(UNPROVEN):
            return verdict
        return Verdict(decision=Decision.ALLOW, reason=WHERE_CONFINED)

    def subject_of(self, call: RecordedCall) -> Subject:
        """A recorded call that `judge_again` could judge, as policy sees it."""
        tool = self.tools[call.tool]
        return self._subject(tool, tool.decode(call.input or {}))

    def _judged(self, subject: Subject, mode: PermissionMode, grants: Sequence[str]) -> Verdict:
        if mode is PermissionMode.BYPASS:
            # A session that starts in this mode has no sandbox.
            return msgspec.structs.replace(self.policy, sandbox_works=None).judge(subject, mode, grants)
        return self.policy.judge(subject, mode, grants)

    def _subject(self, tool: AnyTool, params: msgspec.Struct) -> Subject:
        touches, root = tool.touches(params), self.policy.resolver.root
        real = (os.path.realpath(root / path) for path in touches.paths if "\0" not in path)
        paths = tuple(dict.fromkeys((*touches.paths, *real)))
        return Subject(
            tool=tool.name,
            label=tool.label,
            effects=tool.effects_of(params),
            touches=msgspec.structs.replace(touches, paths=paths),
            mode="code",
        )


def past_sessions(cwd: Path, env: Mapping[str, str]) -> Iterator[tuple[str, Iterator[Record]]]:
    """Every session of a workspace with its records, without those from other machines, whose answers do not count."""
    root = cwd.resolve()
    try:
        user = user_directory(env)
    except ConfigError:
        return
    for place in project_places(root, user):
        for name in sorted(place.own):
            yield name, _records(place.directory / name / LOG_NAME)


def _records(log: Path) -> Iterator[Record]:
    try:
        for grown in records_since(log, LogPosition()):
            yield grown.record
    except (LogError, OSError):
        return  # use what could be read


def _permissions_of(path: Path) -> Permissions:
    """The permissions of one settings file; an invalid file is an error, not an empty set of rules."""
    if not path.is_file():
        raise ConfigError(f"There is no settings file {path}. Nothing was evaluated.")
    checked = check_layer(read_layer(Layer.USER, path))
    if checked.problems:
        raise ConfigError(" ".join([*(problem.message for problem in checked.problems), "Nothing was evaluated."]))
    return msgspec.convert(checked.values, SettingsFile).permissions

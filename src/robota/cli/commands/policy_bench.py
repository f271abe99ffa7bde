"""A policy set up for looking at it: the rules of the settings, or of one file, and calls to judge."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from robota.app.policy import policy_of_permissions, policy_of_settings
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.settings.layers import Layer, check_layer, read_layer
from robota.config.settings.load import load_settings, refuse_errors
from robota.config.settings.schema import Permissions, SettingsFile
from robota.contracts.tool import AnyTool, BadArguments
from robota.contracts.verdict import Subject, Verdict
from robota.log.chain.reader import LOG_NAME, load
from robota.log.record import Record
from robota.log.store import fallback_directory, list_sessions
from robota.policy.decide import SessionPolicy
from robota.policy.testing.replay import RecordedCall
from robota.protocol.permission_mode import PermissionMode
from robota.tools.registry import builtin_tools, by_name


class PolicyBench(msgspec.Struct, frozen=True, kw_only=True):
    """Judges calls as a session would, and runs nothing."""

    policy: SessionPolicy
    tools: dict[str, AnyTool]
    default_mode: PermissionMode = PermissionMode.DEFAULT

    @classmethod
    def open(
        cls, cwd: Path, env: Mapping[str, str], rules: Path | None, permissions: Permissions | None = None
    ) -> "PolicyBench":
        """With the rules of one settings file, or these permissions, or the settings as a session has them here.

        In the first two cases the workspace is taken as trusted and the sandbox as working, so that the answer is
        the same on every machine.
        """
        root = cwd.resolve()
        if rules is not None:
            permissions = _permissions_of(rules)
        if permissions is not None:
            policy, mode = policy_of_permissions(permissions, root, env), permissions.default_mode
        else:
            settings = load_settings(root, env)
            refuse_errors(settings)
            policy, mode = policy_of_settings(settings, root, env), settings.values.permissions.default_mode
        return cls(policy=policy, tools=by_name(builtin_tools()), default_mode=mode or PermissionMode.DEFAULT)

    def judge(self, name: str, arguments: dict[str, Any], mode: PermissionMode | None) -> Verdict:
        """The verdict about a call; `ConfigError` if there is no such tool or the arguments do not fit it."""
        tool = self.tools.get(name)
        if tool is None:
            known = ", ".join(sorted({tool.name for tool in self.tools.values()}))
            raise ConfigError(f"There is no tool {name!r}. The tools are: {known}. Nothing was judged.")
        try:
            params = tool.decode(arguments)
        except BadArguments as error:
            raise ConfigError(f"{error} Nothing was judged.") from error
        return self._judged(self._subject(tool, params), mode or self.default_mode)

    def judge_again(self, call: RecordedCall, mode: PermissionMode | None) -> Verdict | None:
        """The verdict about a recorded call; None if the tool is gone or has other parameters now."""
        try:
            return self.judge(call.tool, call.input or {}, mode or call.permission_mode)
        except (ConfigError, ValueError):
            return None

    def _judged(self, subject: Subject, mode: PermissionMode) -> Verdict:
        if mode is PermissionMode.BYPASS:
            # A session that starts in this mode has no sandbox.
            return msgspec.structs.replace(self.policy, sandbox_works=None).judge(subject, mode, ())
        return self.policy.judge(subject, mode, ())

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


def past_sessions(cwd: Path, env: Mapping[str, str]) -> list[tuple[str, tuple[Record, ...]]]:
    """Every session of a workspace with its records."""
    root = cwd.resolve()
    try:
        fallback = fallback_directory(user_directory(env), root)
    except ConfigError:
        fallback = None
    return [(entry.id, load(entry.directory / LOG_NAME).records) for entry in list_sessions(root, fallback)]


def _permissions_of(path: Path) -> Permissions:
    """The permissions of one settings file; a file that is not as it should be is an error, not no rules."""
    if not path.is_file():
        raise ConfigError(f"There is no settings file {path}. Nothing was judged.")
    checked = check_layer(read_layer(Layer.USER, path))
    if checked.problems:
        raise ConfigError(" ".join([*(problem.message for problem in checked.problems), "Nothing was judged."]))
    return msgspec.convert(checked.values, SettingsFile).permissions

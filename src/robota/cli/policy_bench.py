"""A policy set up for looking at it: the rules of the settings, or of one file, and calls to judge."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from robota.config.errors import ConfigError
from robota.config.layers import Layer, check_layer, read_file
from robota.config.paths import user_directory
from robota.config.schema import Permissions, SettingsFile
from robota.config.settings import load_settings, refuse_errors
from robota.contracts.tool import AnyTool, Touches
from robota.contracts.verdict import Subject, Verdict
from robota.log.reader import LOG_NAME, load
from robota.log.record import Record
from robota.log.store import fallback_directory, list_sessions
from robota.policy.context import PolicyContext
from robota.policy.decide import decide
from robota.policy.modes import PermissionMode
from robota.policy.permissions import RuleSet, rules_to_look_at
from robota.policy.places import Places
from robota.policy.replay import RecordedCall
from robota.tools.registry import builtin_tools, by_name


class PolicyBench(msgspec.Struct, frozen=True, kw_only=True):
    """Judges calls as a session would, and runs nothing."""

    places: Places
    rules: RuleSet
    default_mode: str
    tools: dict[str, AnyTool]
    trusted: bool

    @classmethod
    def open(
        cls, cwd: Path, env: Mapping[str, str], rules: Path | None, permissions: Permissions | None = None
    ) -> "PolicyBench":
        """With the rules of one settings file, or these permissions, or the settings as a session has them."""
        root = cwd.resolve()
        trusted = True
        if rules is not None:
            permissions = _permissions_of(rules)
        elif permissions is None:
            settings = load_settings(root, env)
            refuse_errors(settings)
            permissions = settings.values.permissions
            trusted = settings.is_trusted
        tools = by_name(builtin_tools())
        return cls(
            places=Places(root=root, home=_home(env), real=os.path.realpath),
            rules=rules_to_look_at(permissions, {name: tool.name for name, tool in tools.items()}),
            default_mode=permissions.default_mode or "default",
            tools=tools,
            trusted=trusted,
        )

    def judge(self, name: str, arguments: dict[str, Any], mode: str | None) -> Verdict:
        """The verdict about a call; `ConfigError` if there is no such tool or the arguments do not fit it."""
        tool = self.tools.get(name)
        if tool is None:
            known = ", ".join(sorted({tool.name for tool in self.tools.values()}))
            raise ConfigError(f"There is no tool {name!r}. The tools are: {known}. Nothing was judged.")
        try:
            params = msgspec.convert(arguments, tool.params, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"The arguments of {name} do not fit: {error}. Nothing was judged.") from error
        return decide(self._subject(tool, tool.touches(params)), self._context(mode or self.default_mode))

    def judge_again(self, call: RecordedCall, mode: str | None) -> Verdict | None:
        """The verdict about a recorded call; None if the tool is gone or has other parameters now."""
        try:
            return self.judge(call.tool, call.input or {}, mode or call.permission_mode)
        except (ConfigError, ValueError):
            return None

    def _subject(self, tool: AnyTool, touches: Touches) -> Subject:
        real = (os.path.realpath(self.places.root / path) for path in touches.paths if "\0" not in path)
        paths = tuple(dict.fromkeys((*touches.paths, *real)))
        return Subject(
            tool=tool.name,
            label=tool.label,
            effects=tool.effects,
            touches=msgspec.structs.replace(touches, paths=paths),
            mode="code",
        )

    def _context(self, mode: str) -> PolicyContext:
        return PolicyContext(
            mode=PermissionMode(mode),
            places=self.places,
            allow=self.rules.allow,
            ask=self.rules.ask,
            deny=self.rules.deny,
            trusted=self.trusted,
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
    checked = check_layer(read_file(Layer.USER, path))
    if checked.problems:
        raise ConfigError(" ".join([*(problem.message for problem in checked.problems), "Nothing was judged."]))
    return msgspec.convert(checked.values, SettingsFile).permissions


def _home(env: Mapping[str, str]) -> Path | None:
    home = env.get("HOME")
    return Path(home) if home else None

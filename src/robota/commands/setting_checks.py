"""Check a setting before it is written: would the next start reject or ignore it?"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from robota.config.errors import ConfigError
from robota.config.settings.key_path import KeyPath, join_key
from robota.config.settings.validation import FlawKind, SettingFlaw, checked
from robota.config.settings.writer import with_value

NOTHING_WRITTEN: Final = "Nothing was written."

# Called with the new value of the top-level setting, and the key.
Check = Callable[[dict[str, Any], KeyPath], Iterator[str]]


def refuse_ineffective(key: KeyPath, value: Any, before: Mapping[str, Any]) -> None:
    """Raise `ConfigError` if the setting is unknown, invalid, or has no effect. `before` is the content of the file."""
    after = with_value(dict(before), list(key), value, Path("the file"))
    for flaw in checked(after)[1]:
        if _is_about(flaw, key):
            sentence = flaw.text if flaw.text.endswith("?") else f"{flaw.text}."
            raise ConfigError(f"{join_key(flaw.path)}: {sentence} {NOTHING_WRITTEN}")
    check = CHECKS.get(key[0])
    if check is None or len(key) == 1:
        return
    for problem in check(after[key[0]], key):
        raise ConfigError(f"{join_key(key)}: {problem.rstrip('.')}. {NOTHING_WRITTEN}")


def _is_about(flaw: SettingFlaw, key: KeyPath) -> bool:
    """Whether a flaw is caused by this key. Missing fields count only for a whole profile, not for a single field."""
    path = tuple(map(str, flaw.path))
    if path[: len(key)] == key:
        return True
    return flaw.kind is not FlawKind.MISSING and key[: len(path)] == path


def _rule_problems(permissions: dict[str, Any], key: KeyPath) -> Iterator[str]:
    if key[1] not in ("allow", "ask", "deny"):
        return
    from robota.policy.rules.rule import parse_rules
    from robota.tools.registry import builtin_names

    for rule in parse_rules(permissions[key[1]], builtin_names())[1]:
        yield rule.message


def _hook_problems(hooks: dict[str, Any], key: KeyPath) -> Iterator[str]:
    from robota.hooks.definitions import parse_hooks

    for problem in parse_hooks({key[1]: hooks[key[1]]}).problems:
        yield problem.message


def _model_problems(models: dict[str, Any], key: KeyPath) -> Iterator[str]:
    from robota.providers.catalogue import lookup

    try:
        lookup("", key[1], models)
    except ConfigError as problem:
        yield str(problem).partition(" Nothing was sent")[0]


def _provider_problems(providers: dict[str, Any], key: KeyPath) -> Iterator[str]:
    from robota.providers.registry import definition

    try:
        if "type" in providers[key[1]]:
            definition(providers[key[1]]["type"])
    except ConfigError as problem:
        yield str(problem)


def _server_problems(servers: dict[str, Any], key: KeyPath) -> Iterator[str]:
    from robota.extensions.mcp.definitions import SERVER_FIELDS, problem_with_server

    if len(key) == 2:
        problem = problem_with_server(key[1], servers[key[1]])
        if problem is not None:
            yield problem
    elif key[2] not in SERVER_FIELDS:
        yield f"there is no such setting, so it has no effect; an MCP server has {', '.join(SERVER_FIELDS)}"


def _variable_problems(variables: dict[str, Any], key: KeyPath) -> Iterator[str]:
    from robota.workspace.process.environment import without_loader_settings

    if not without_loader_settings({key[1]: variables[key[1]]}):
        yield "settings cannot set variables that load code into programs"


CHECKS: Final[Mapping[str, Check]] = {
    "permissions": _rule_problems,
    "hooks": _hook_problems,
    "models": _model_problems,
    "providers": _provider_problems,
    "mcpServers": _server_problems,
    "env": _variable_problems,
}

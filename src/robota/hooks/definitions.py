"""Hooks as people write them in settings, and as we use them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from robota.contracts.hook import Moment

COMMAND_TIMEOUT_S: Final = 60.0
PROMPT_TIMEOUT_S: Final = 30.0
ENDING_TIMEOUT_S: Final = 1.5


class CommandHandler(msgspec.Struct, frozen=True, kw_only=True, tag="command", tag_field="type", rename="camel"):
    """A shell command that reads the event as JSON on stdin. `fail_closed`: no decision counts as a no."""

    command: str
    timeout: float | None = None
    fail_closed: bool = False


class HttpHandler(msgspec.Struct, frozen=True, kw_only=True, tag="http", tag_field="type", rename="camel"):
    """A URL that the event is posted to as JSON. `$VAR` in a header is replaced for the variables named."""

    url: str
    headers: dict[str, str] = {}
    allowed_env_vars: tuple[str, ...] = ()
    timeout: float | None = None
    fail_closed: bool = False


Handler = CommandHandler | HttpHandler


class HookRule(msgspec.Struct, frozen=True, kw_only=True):
    """Handlers for one moment; `matcher` says for which tools, sources or reasons."""

    moment: Moment
    handlers: tuple[Handler, ...]
    matcher: str = ""


class HookProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the hook settings that cannot be used, and why. The rest still works."""

    where: str
    reason: str

    @property
    def message(self) -> str:
        return f"The hook setting {self.where} is left out: {self.reason}."


class HookSet(msgspec.Struct, frozen=True, kw_only=True):
    rules: tuple[HookRule, ...] = ()
    problems: tuple[HookProblem, ...] = ()


def parse_hooks(settings: Mapping[str, Any]) -> HookSet:
    """Read `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", …}]}]}`."""
    rules: list[HookRule] = []
    problems: list[HookProblem] = []
    for name, groups in settings.items():
        if name not in set(Moment):
            problems.append(HookProblem(where=name, reason=f"there is no such event; known are {', '.join(Moment)}"))
            continue
        for place, group in enumerate(groups if isinstance(groups, list) else [groups]):
            _read_group(Moment(name), f"{name}[{place}]", group, rules, problems)
    return HookSet(rules=tuple(rules), problems=tuple(problems))


def timeout_of(handler: Handler, moment: Moment) -> float:
    if handler.timeout is not None:
        return handler.timeout
    if moment is Moment.SESSION_END:
        return ENDING_TIMEOUT_S
    return PROMPT_TIMEOUT_S if moment is Moment.USER_PROMPT_SUBMIT else COMMAND_TIMEOUT_S


def matches(matcher: str, names: Sequence[str]) -> bool:
    """Whether a matcher means one of these names: all, a list of names, or an unanchored pattern."""
    if matcher in ("", "*"):
        return True
    if PLAIN_MATCHER.fullmatch(matcher):
        return not set(names).isdisjoint(part.strip() for part in re.split(r"[|,]", matcher))
    pattern = _compiled(matcher)
    return pattern is not None and any(pattern.search(name) for name in names)


PLAIN_MATCHER: Final = re.compile(r"[A-Za-z0-9_\- ,|]+")


def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _read_group(
    moment: Moment, where: str, group: Any, rules: list[HookRule], problems: list[HookProblem]
) -> None:
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        problems.append(HookProblem(where=where, reason='it must be an object with a list "hooks"'))
        return
    matcher = group.get("matcher") or ""
    if not isinstance(matcher, str) or (matcher != "*" and _compiled(matcher) is None):
        problems.append(HookProblem(where=f"{where}.matcher", reason="it is not a valid pattern"))
        return
    handlers: list[Handler] = []
    for place, raw in enumerate(group["hooks"]):
        try:
            handlers.append(msgspec.convert(raw, Handler))
        except msgspec.ValidationError as error:
            problems.append(HookProblem(where=f"{where}.hooks[{place}]", reason=str(error)))
    if handlers:
        rules.append(HookRule(moment=moment, matcher=matcher, handlers=tuple(handlers)))

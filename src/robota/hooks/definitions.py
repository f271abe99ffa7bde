"""Hook definitions: reads and validates them from settings."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec

from robota.contracts.hook import HookEvent

TIMEOUT_S: Final = 600.0
PROMPT_TIMEOUT_S: Final = 30.0
ENDING_TIMEOUT_S: Final = 1.5
MAX_ENDING_S: Final = 60.0

# These events have no name for a matcher.
WITHOUT_TARGET: Final = frozenset(
    {
        HookEvent.USER_PROMPT_SUBMIT,
        HookEvent.STOP,
        HookEvent.TASK_COMPLETED,
        HookEvent.WORKTREE_CREATE,
        HookEvent.WORKTREE_REMOVE,
    }
)
ABOUT_CALLS: Final = frozenset(
    {
        HookEvent.PRE_TOOL_USE,
        HookEvent.POST_TOOL_USE,
        HookEvent.POST_TOOL_USE_FAILURE,
        HookEvent.PERMISSION_REQUEST,
    }
)
# Events of Claude Code that have no meaning here, or not yet: hooks for them are accepted and never run.
NEVER_FIRED: Final = frozenset(
    {
        "Setup",
        "InstructionsLoaded",
        "MessageDisplay",
        "PermissionDenied",
        "PostToolBatch",
        "StopFailure",
        "TaskCreated",
        "TeammateIdle",
        "ConfigChange",
        "CwdChanged",
        "DirectoryAdded",
        "FileChanged",
        "PostCompact",
        "Elicitation",
        "ElicitationResult",
    }
)
HANDLER_TYPES: Final = ("command", "http", "prompt")
NO_AGENTS: Final = "hooks of type 'agent' are not supported: use a command or a prompt hook"

Seconds = Annotated[float, msgspec.Meta(gt=0)]


class CommandHandler(msgspec.Struct, frozen=True, kw_only=True, tag="command", tag_field="type", rename="camel"):
    """A command that reads the event as JSON on stdin: for the shell, or with `args` a program.

    `fail_closed`: no decision counts as a denial. `in_background`: the engine does not wait for it. `only_if`: a
    permission rule that must match the call.
    """

    command: str
    args: tuple[str, ...] | None = None
    shell: Literal["sh", "bash"] = "sh"
    in_background: bool = msgspec.field(default=False, name="async")
    only_if: str | None = msgspec.field(default=None, name="if")
    timeout: Seconds | None = None
    fail_closed: bool = False

    @property
    def name(self) -> str:
        return self.command


class HttpHandler(msgspec.Struct, frozen=True, kw_only=True, tag="http", tag_field="type", rename="camel"):
    """A URL that the event is posted to as JSON. `$VAR` in a header is replaced for the variables named."""

    url: str
    headers: dict[str, str] = {}
    allowed_env_vars: tuple[str, ...] = ()
    in_background: bool = msgspec.field(default=False, name="async")
    only_if: str | None = msgspec.field(default=None, name="if")
    timeout: Seconds | None = None
    fail_closed: bool = False

    @property
    def name(self) -> str:
        return self.url


class PromptHandler(msgspec.Struct, frozen=True, kw_only=True, tag="prompt", tag_field="type", rename="camel"):
    """A question for a model, which answers with a decision in JSON. `$ARGUMENTS` stands for the event."""

    prompt: str
    model: str | None = None
    in_background: bool = msgspec.field(default=False, name="async")
    only_if: str | None = msgspec.field(default=None, name="if")
    timeout: Seconds | None = None
    fail_closed: bool = False

    @property
    def name(self) -> str:
        return self.prompt


class CallbackHandler(msgspec.Struct, frozen=True, kw_only=True):
    """A function of the program that embeds Robota: it gets the event as JSON, and returns the result as JSON."""

    name: str
    run: Callable[[bytes], Awaitable[str]]
    timeout: Seconds | None = None
    fail_closed: bool = False
    in_background: bool = False
    only_if: str | None = None


ConfiguredHandler = CommandHandler | HttpHandler | PromptHandler
Handler = ConfiguredHandler | CallbackHandler


class HookRule(msgspec.Struct, frozen=True, kw_only=True):
    """Handlers for one event; `matcher` says for which tools, sources or reasons.

    `variables` are for the commands of a plugin, which say where it lies.
    """

    event: HookEvent
    handlers: tuple[Handler, ...]
    matcher: str = ""
    variables: dict[str, str] = {}


class HandlerToRun(msgspec.Struct, frozen=True):
    """A handler that an event runs, with the variables of its rule."""

    handler: Handler
    variables: dict[str, str]


class HookProblem(msgspec.Struct, frozen=True, kw_only=True):
    """An unusable part of the hook settings, and why. The rest still works."""

    where: str
    reason: str

    @property
    def message(self) -> str:
        return f"The hook setting {self.where} is ignored: {self.reason}."


class HookSet(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks of the settings, their problems, and the events they name that never occur here."""

    rules: tuple[HookRule, ...] = ()
    problems: tuple[HookProblem, ...] = ()
    never_fired: tuple[str, ...] = ()


# Returns the problem with a permission rule, or None.
CheckRule = Callable[[str], str | None]


def parse_hooks(settings: Mapping[str, Any], check_rule: CheckRule = lambda rule: None) -> HookSet:
    """Read `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", …}]}]}`."""
    rules: list[HookRule] = []
    problems: list[HookProblem] = []
    for name, groups in settings.items():
        if name in NEVER_FIRED:
            continue
        if name not in set(HookEvent):
            problems.append(HookProblem(where=name, reason=f"there is no such event; known are {', '.join(HookEvent)}"))
            continue
        for index, group in enumerate(groups if isinstance(groups, list) else [groups]):
            read = _read_group(HookEvent(name), f"{name}[{index}]", group, check_rule)
            rules += read.rules
            problems += read.problems
    never_fired = tuple(name for name in settings if name in NEVER_FIRED)
    return HookSet(rules=tuple(rules), problems=tuple(problems), never_fired=never_fired)


def timeout_of(handler: Handler, event: HookEvent) -> float:
    """How long a handler may take for this event, in seconds."""
    if event is HookEvent.SESSION_END:
        return min(handler.timeout or ENDING_TIMEOUT_S, MAX_ENDING_S)
    is_short = event is HookEvent.USER_PROMPT_SUBMIT or isinstance(handler, PromptHandler)
    return handler.timeout or (PROMPT_TIMEOUT_S if is_short else TIMEOUT_S)


def rule_applies(rule: HookRule, event: HookEvent, names: Sequence[str]) -> bool:
    """Whether a rule applies to this event and, if the event has names, to one of these."""
    return rule.event is event and (event in WITHOUT_TARGET or matches(rule.matcher, names))


def matches(matcher: str, names: Sequence[str]) -> bool:
    """Whether a matcher (all, a list of names, or an unanchored pattern) matches one of these names."""
    if matcher in ("", "*"):
        return True
    if PLAIN_MATCHER.fullmatch(matcher):
        return not set(names).isdisjoint(part.strip() for part in re.split(r"[|,]", matcher))
    return _problem_with_matcher(matcher) is None and any(_is_found(matcher, name) for name in names)


PLAIN_MATCHER: Final = re.compile(r"[A-Za-z0-9_\- ,|]+")
REPETITION: Final = re.compile(r"[*+{]")
REPEATED_GROUP: Final = re.compile(r"\)[*+{]")
MAX_REPETITIONS: Final = 2
MAX_NAME_LENGTH: Final = 200


def _is_simple(matcher: str) -> bool:
    """Whether a backtracking engine is fast with the pattern: no nested repetitions, and only a few."""
    return len(REPETITION.findall(matcher)) <= MAX_REPETITIONS and REPEATED_GROUP.search(matcher) is None


def _is_found(matcher: str, name: str) -> bool:
    if _is_simple(matcher) and len(name) <= MAX_NAME_LENGTH:
        return re.search(matcher, name) is not None
    # Rarely needed and slow to import.
    from robota.config.linear_pattern import fits_pattern

    return fits_pattern(matcher, name)


def _problem_with_matcher(matcher: object) -> str | None:
    if matcher in ("", "*"):
        return None
    if isinstance(matcher, str) and _is_simple(matcher):
        try:
            re.compile(matcher)
        except (re.error, OverflowError, RecursionError) as error:
            return str(error)
        return None
    from robota.config.linear_pattern import problem_with_pattern

    return problem_with_pattern(matcher)


def _read_group(event: HookEvent, where: str, group: Any, check_rule: CheckRule) -> HookSet:
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return _problem(where, 'it must be an object with a list "hooks"')
    matcher = group.get("matcher") or ""
    if (problem := _problem_with_matcher(matcher)) is not None:
        return _problem(f"{where}.matcher", f"it is not a valid pattern: {problem}")
    handlers: list[Handler] = []
    problems: list[HookProblem] = []
    for index, raw in enumerate(group["hooks"]):
        read = _read_handler(event, raw, check_rule)
        if isinstance(read, str):
            problems.append(HookProblem(where=f"{where}.hooks[{index}]", reason=read))
        else:
            handlers.append(read)
    rules = (HookRule(event=event, matcher=matcher, handlers=tuple(handlers)),) if handlers else ()
    return HookSet(rules=rules, problems=tuple(problems))


def _read_handler(event: HookEvent, raw: Any, check_rule: CheckRule) -> Handler | str:
    """The handler, or why it cannot be used."""
    kind = raw.get("type") if isinstance(raw, dict) else None
    if kind == "agent":
        return NO_AGENTS
    if isinstance(kind, str) and kind not in HANDLER_TYPES:
        return f"hooks of type {kind!r} are not supported; there are {', '.join(HANDLER_TYPES)}"
    try:
        handler: ConfiguredHandler = msgspec.convert(raw, ConfiguredHandler)
    except msgspec.ValidationError as error:
        return str(error)
    if handler.only_if is None:
        return handler
    if event not in ABOUT_CALLS:
        return f'"if" works for events about tool calls only, not for {event}'
    return check_rule(handler.only_if) or handler


def _problem(where: str, reason: str) -> HookSet:
    return HookSet(problems=(HookProblem(where=where, reason=reason),))

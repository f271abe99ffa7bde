"""Asking policy about calls, in a workspace at /ws with a home at /home/me."""

from collections.abc import Sequence
from pathlib import Path

from robota.contracts.tool import Effect, Touches
from robota.contracts.verdict import Subject, Verdict
from robota.policy.decide import decide
from robota.policy.protected.path_resolver import PathResolver
from robota.policy.rules.rule import Rule, parse_rules
from robota.policy.stages import PolicyContext
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.shell.expansion import files_matching

ROOT = Path("/ws")
PLACES = PathResolver(root=ROOT, home=Path("/home/me"), matching=files_matching)
LABELS = {
    Effect.READ: ("read_file", "Read"),
    Effect.WRITE: ("write_to_file", "Write"),
    Effect.EXECUTE: ("execute_command", "Bash"),
    Effect.NETWORK: ("web_fetch", "WebFetch"),
    Effect.TALK: ("ask_followup_question", "ask_followup_question"),
}


def subject(
    *effects: Effect, paths: Sequence[str] = (), command: str | None = None, host: str | None = None, tool: str = ""
) -> Subject:
    name, label = LABELS[effects[0]] if effects else ("unknown", "Unknown")
    touches = Touches(paths=tuple(paths), command=command, host=host)
    return Subject(tool=tool or name, label=tool or label, effects=frozenset(effects), touches=touches, mode="code")


def running(command: str, cwd: str | None = None) -> Subject:
    return subject(Effect.EXECUTE, command=command, paths=(cwd,) if cwd else ())


def writing(*paths: str) -> Subject:
    return subject(Effect.WRITE, paths=paths)


def reading(*paths: str) -> Subject:
    return subject(Effect.READ, paths=paths)


def fetching(host: str) -> Subject:
    return subject(Effect.NETWORK, host=host)


def rules(*texts: str) -> tuple[Rule, ...]:
    valid, invalid = parse_rules(texts)
    assert not invalid, invalid
    return valid


def judge(
    call: Subject | str,
    mode: str = "default",
    *,
    allow: Sequence[str] = (),
    ask: Sequence[str] = (),
    deny: Sequence[str] = (),
    grants: Sequence[str] = (),
    resolver: PathResolver = PLACES,
    trusted: bool = True,
    sandboxed: bool = False,
) -> Verdict:
    context = PolicyContext(
        mode=PermissionMode(mode),
        resolver=resolver,
        allow=rules(*allow),
        ask=rules(*ask),
        deny=rules(*deny),
        grants=rules(*grants),
        trusted=trusted,
        sandboxed=sandboxed,
    )
    return decide(running(call) if isinstance(call, str) else call, context)


def says(call: Subject | str, mode: str = "default", **options: Sequence[str]) -> str:
    """Only the decision."""
    return str(
        judge(
            call,
            mode,
            allow=options.get("allow", ()),
            ask=options.get("ask", ()),
            deny=options.get("deny", ()),
            grants=options.get("grants", ()),
        ).decision
    )

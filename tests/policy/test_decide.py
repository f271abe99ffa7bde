"""The decision about a call."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import Effect, Touches
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.policy.decide import PolicyContext, decide
from robota.policy.modes import PermissionMode
from robota.policy.rules import Rule, parse_rules
from robota.policy.unattended import unattended

ROOT = Path("/ws")
LABELS = {Effect.READ: "Read", Effect.WRITE: "Write", Effect.EXECUTE: "Bash", Effect.TALK: "talk"}


def subject(*effects: Effect, path: str | None = None, command: str | None = None) -> Subject:
    label = LABELS.get(effects[0], "Other") if effects else "Unknown"
    touches = Touches(paths=(path,) if path is not None else (), command=command)
    return Subject(tool=label.lower(), label=label, effects=frozenset(effects), touches=touches, mode="code")


def judge(call: Subject, mode: str = "default", *, allow: str = "", ask: str = "", deny: str = "") -> Verdict:
    rules = [parse_rules([text] if text else [])[0] for text in (allow, ask, deny)]
    return decide(
        call, PolicyContext(mode=PermissionMode(mode), root=ROOT, allow=rules[0], ask=rules[1], deny=rules[2])
    )


READ = subject(Effect.READ, path="a.py")
WRITE = subject(Effect.WRITE, path="a.py")
RUN = subject(Effect.EXECUTE, command="npm test")
TALK = subject(Effect.TALK)
NETWORK = subject(Effect.NETWORK)
UNKNOWN = subject()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("plan", "allow deny deny allow deny deny"),
        ("default", "allow ask ask allow ask ask"),
        ("acceptEdits", "allow allow ask allow ask ask"),
        ("bypassPermissions", "allow allow allow allow allow allow"),
    ],
)
def test_what_each_mode_says(mode: str, expected: str) -> None:
    calls = (READ, WRITE, RUN, TALK, NETWORK, UNKNOWN)
    assert " ".join(judge(call, mode).decision for call in calls) == expected


@pytest.mark.parametrize("mode", list(PermissionMode))
@pytest.mark.parametrize(
    "call",
    [
        subject(Effect.READ, path="/etc/passwd"),
        subject(Effect.WRITE, path="a/../../x"),
        subject(Effect.WRITE, path="/ws-evil/f"),
        subject(Effect.READ, path="a\0"),
        subject(Effect.EXECUTE, command="ls", path=".."),
        subject(Effect.EXECUTE, command="ls\0"),
        subject(Effect.EXECUTE, command="x" * 1_000_000),
    ],
)
def test_hard_limits_hold_in_every_mode_and_against_every_rule(mode: str, call: Subject) -> None:
    assert judge(call, mode, allow=call.label).decision is Decision.DENY


def test_deny_wins_over_allow_and_bypass() -> None:
    verdict = judge(RUN, "bypassPermissions", allow="Bash", deny="Bash(npm *)")
    assert (verdict.decision, verdict.rule) == (Decision.DENY, "Bash(npm *)")


def test_ask_wins_over_allow() -> None:
    verdict = judge(RUN, allow="Bash(npm *)", ask="Bash(npm test)")
    assert (verdict.decision, verdict.rule) == (Decision.ASK, "Bash(npm test)")


def test_an_allow_rule_permits_exactly_what_it_says() -> None:
    assert judge(RUN, allow="Bash(npm test *)").decision is Decision.ALLOW
    sneaky = subject(Effect.EXECUTE, command="npm test; id")
    assert judge(sneaky, allow="Bash(npm test *)").decision is Decision.ASK
    assert judge(RUN, "plan", allow="Bash").decision is Decision.DENY


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".GIT/config",
        ".git./x",
        "./.git/config",
        ".git/../.git/hooks/x",
        "sub/.git/config",
        ".robota/settings.json",
        ".env",
        "app/.env.local",
        ".mcp.json",
        ".vscode/settings.json",
        "/ws/.git/config",
    ],
)
def test_protected_paths_are_asked_about_even_if_edits_are_accepted(path: str) -> None:
    call = subject(Effect.WRITE, path=path)
    for mode in ("default", "acceptEdits"):
        assert judge(call, mode, allow="Write").decision is Decision.ASK
    assert judge(subject(Effect.READ, path=path)).decision is Decision.ALLOW


@pytest.mark.parametrize("path", [".gitignore", "git/config", ".environment", "src/env.py"])
def test_similar_names_are_not_protected(path: str) -> None:
    assert judge(subject(Effect.WRITE, path=path), "acceptEdits").decision is Decision.ALLOW


def test_without_a_person_an_ask_is_a_denial_that_shows_the_way() -> None:
    assert "--permission-mode acceptEdits" in unattended(judge(WRITE), WRITE).reason
    assert "--allowed-tools 'Bash(npm test)'" in unattended(judge(RUN), RUN).reason
    general = unattended(judge(RUN))
    assert general.decision is Decision.DENY
    assert "--permission-mode acceptEdits" in general.reason and "--allowed-tools 'Bash(" in general.reason
    allowed = judge(READ)
    assert unattended(allowed) is allowed


def test_without_a_person_no_rule_is_offered_that_would_not_help() -> None:
    protected = subject(Effect.WRITE, path=".env")
    assert "--allowed-tools" not in unattended(judge(protected), protected).reason
    opaque = subject(Effect.EXECUTE, command="a | b")
    assert "Bash(" not in unattended(judge(opaque), opaque).reason


TEXT = st.text(max_size=30)
SUBJECTS = st.builds(
    Subject,
    tool=TEXT,
    label=st.sampled_from(["Read", "Write", "Bash", "x"]),
    effects=st.frozensets(st.sampled_from(Effect)),
    touches=st.builds(
        Touches, paths=st.lists(TEXT, max_size=3).map(tuple), command=st.none() | TEXT, host=st.none() | TEXT
    ),
    mode=TEXT,
)
RULES = st.lists(
    st.builds(Rule, text=TEXT, tool=st.sampled_from(["Read", "Write", "Bash"]), spec=st.none() | TEXT), max_size=3
).map(tuple)
CONTEXTS = st.builds(
    PolicyContext, mode=st.sampled_from(PermissionMode), root=st.just(ROOT), allow=RULES, ask=RULES, deny=RULES
)


@given(SUBJECTS, CONTEXTS)
def test_every_call_gets_a_verdict_with_a_reason(call: Subject, context: PolicyContext) -> None:
    verdict = decide(call, context)
    assert verdict.reason.endswith(".")
    assert verdict == decide(call, context)
    assert unattended(verdict, call).decision in {Decision.ALLOW, Decision.DENY}


@given(SUBJECTS, CONTEXTS)
def test_plan_mode_never_lets_anything_change(call: Subject, context: PolicyContext) -> None:
    if call.effects <= {Effect.READ, Effect.TALK}:
        return
    plan = PolicyContext(mode=PermissionMode.PLAN, root=ROOT, allow=context.allow)
    assert decide(call, plan).decision is Decision.DENY

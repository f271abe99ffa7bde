"""The decision about a call."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import Effect, Touches
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.policy.decide import decide
from robota.policy.rules.rule import Rule, split_rules
from robota.policy.stages import PolicyContext
from robota.policy.unattended import unattended
from robota.protocol.permission_mode import PermissionMode
from tests.policy.judging import PLACES, fetching, judge, reading, running, says, subject, writing

READ = reading("a.py")
WRITE = writing("a.py")
RUN = running("npm test")
TALK = subject(Effect.TALK)
NETWORK = fetching("example.com")
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
        reading("/home/me/.ssh/id_rsa"),
        writing("a/../../x"),
        writing("/ws-evil/f"),
        reading("a\0"),
        running("ls", cwd=".."),
        running("ls\0"),
        running("x" * 1_000_000),
        fetching("127.0.0.1"),
    ],
)
def test_hard_limits_hold_in_every_mode_and_against_every_rule(mode: str, call: Subject) -> None:
    assert judge(call, mode, allow=[call.label]).decision is Decision.DENY


def test_deny_wins_over_allow_and_bypass() -> None:
    verdict = judge(RUN, "bypassPermissions", allow=["Bash"], deny=["Bash(npm *)"])
    assert (verdict.decision, verdict.rule) == (Decision.DENY, "Bash(npm *)")


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_ask_wins_over_allow_and_over_every_mode(mode: str) -> None:
    verdict = judge(RUN, mode, allow=["Bash(npm *)"], ask=["Bash(npm test)"])
    assert (verdict.decision, verdict.rule) == (Decision.ASK, "Bash(npm test)")
    assert says(WRITE, mode, allow=["Edit"], ask=["Edit(*.py)"]) == "ask"


def test_an_allow_rule_permits_exactly_what_it_says() -> None:
    assert says(RUN, allow=["Bash(npm test *)"]) == "allow"
    assert says("npm test; rm x", allow=["Bash(npm test *)"]) == "ask"
    assert says(RUN, "plan", allow=["Bash"]) == "deny"


def test_a_grant_of_the_session_allows_like_a_rule_and_loses_to_a_denial() -> None:
    verdict = judge(RUN, grants=["Bash(npm test)"])
    assert (verdict.decision, verdict.steps[-1]) == (Decision.ALLOW, "session grants")
    assert says(RUN, grants=["Bash(npm test)"], deny=["Bash(npm *)"]) == "deny"
    assert says(WRITE, grants=["Edit(a.py)"]) == "allow"


@pytest.mark.parametrize("path", [".gitignore", "git/config", ".environment", "src/env.py"])
def test_similar_names_are_not_protected(path: str) -> None:
    assert says(writing(path), "acceptEdits") == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -rf ~",
        "rm -r .",
        "rm -rf ..",
        "rm -rf /usr",
        "rm -rf /ws/",
        "rm -rf ~/*",
    ],
)
def test_no_mode_and_no_rule_approves_deleting_what_everything_rests_on(command: str) -> None:
    assert says(command, "bypassPermissions", allow=["Bash"]) == "ask"
    assert says("rm -rf build", "bypassPermissions") == "allow"


def test_a_verdict_tells_the_stages_it_went_through() -> None:
    assert judge(RUN, deny=["Bash(npm *)"]).steps == ("hard limits", "deny rules")
    assert judge("ls").steps[-1] == "read-only commands"
    assert judge(WRITE).steps[-1] == "mode"


def declined(call: Subject, mode: str = "default", asking: Sequence[str] = ()) -> Verdict:
    def judged(other: PermissionMode, more: tuple[str, ...]) -> Decision:
        return judge(call, other, grants=more, ask=asking).decision

    return unattended(judge(call, mode, ask=asking), call, judged)


def test_without_a_user_an_ask_is_a_denial_that_shows_the_way() -> None:
    assert declined(WRITE).decision is Decision.DENY
    assert "--permission-mode acceptEdits" in declined(WRITE).advice
    assert "--allowed-tools 'Bash(npm test)'" in declined(RUN).advice
    assert declined(READ) == judge(READ)


CALLS = [
    *(WRITE, RUN, writing(".env"), writing(".git/config"), fetching("example.com"), subject(tool="mcp__a__b")),
    *map(
        running, ("echo x > f", "npm test > f", "echo x > .git/config", "a $b", "rm -rf /", "rm -rf build", "a $b > f")
    ),
    *map(running, ("cat /etc/hosts", "curl x | sh", "git -C x log", "for i in a; do rm $i; done", "echo x > /etc/f")),
]


@pytest.mark.parametrize("mode", ["default", "acceptEdits"])
@pytest.mark.parametrize("asking", [[], ["Bash", "Edit"], ["Bash(npm *)"]], ids=str)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.touches.command or str(call.touches))
def test_what_a_denial_advises_allows_the_call(call: Subject, asking: list[str], mode: str) -> None:
    """Follow the advice, whatever it is, and see."""
    if judge(call, mode, ask=asking).decision is not Decision.ASK:
        return
    advice = declined(call, mode, asking).advice
    advised = re.search(r"--permission-mode (\w+)", advice)
    tools = re.search(r"--allowed-tools (?:'([^']*)'|(\w+))", advice)
    ways = [("default", tools), (advised[1] if advised else "default", None)] if " or --" in advice else []
    for way, named in ways or [(advised[1] if advised else "default", tools)]:
        granted = split_rules(named[1] or named[2]) if named else ()
        is_allowed = says(call, way, grants=granted, ask=asking) == "allow"
        assert is_allowed or advice == "Run it in an interactive session.", advice


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.touches.command or str(call.touches))
def test_the_reason_of_a_denial_has_no_advice_that_the_model_could_take_as_a_way_around_it(call: Subject) -> None:
    refused = declined(call)
    assert "--" not in refused.reason and "rewrite" not in refused.reason
    assert refused.decision is Decision.DENY


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
# Not `st.builds`, which would resolve annotations that policy imports only for type checking.
CONTEXTS = st.tuples(st.sampled_from(PermissionMode), RULES, RULES, RULES).map(
    lambda fields: PolicyContext(
        mode=fields[0], resolver=PLACES, allow=tuple(fields[1]), ask=tuple(fields[2]), deny=tuple(fields[3])
    )
)


@given(SUBJECTS, CONTEXTS)
def test_every_call_gets_a_verdict_with_a_reason(call: Subject, context: PolicyContext) -> None:
    verdict = decide(call, context)
    assert verdict.reason.endswith(".")
    assert verdict == decide(call, context)
    refused = unattended(verdict, call, lambda mode, rules: Decision.ASK)
    assert refused.decision in {Decision.ALLOW, Decision.DENY}


@given(SUBJECTS, CONTEXTS)
def test_plan_mode_never_lets_anything_change(call: Subject, context: PolicyContext) -> None:
    if call.effects <= {Effect.READ, Effect.TALK}:
        return
    plan = PolicyContext(mode=PermissionMode.PLAN, resolver=PLACES, allow=context.allow)
    verdict = decide(call, plan)
    assert verdict.decision is Decision.DENY or verdict.rule == "read-only command"


def test_the_host_of_a_page_is_offered_and_ends_the_question() -> None:
    offered = judge(fetching("docs.example.com")).suggestions
    assert [each.rules for each in offered] == [("WebFetch(domain:docs.example.com)",)]
    assert judge(fetching("docs.example.com"), allow=offered[0].rules).decision is Decision.ALLOW
    assert judge(fetching("example.com"), allow=offered[0].rules).decision is Decision.ASK

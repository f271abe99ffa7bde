"""Policy as a session uses it: with regard to whether a sandbox stands behind the verdict."""

import msgspec
import pytest

from robota.contracts.tool import Touches
from robota.contracts.verdict import Decision, Verdict
from robota.policy.decide import SessionPolicy
from robota.policy.rules.sources import RuleSet
from robota.protocol.permission_mode import PermissionMode
from tests.policy.judging import PLACES, rules, running


def judged(command: str, *, works: bool, mode: str = "default", outside: bool = False) -> Verdict:
    judge = SessionPolicy(
        rules=RuleSet(allow=rules("Bash(make *)")), resolver=PLACES, names={}, sandbox_works=lambda: works
    )
    touches = Touches(command=command, outside_sandbox=outside)
    return judge.judge(msgspec.structs.replace(running(command), touches=touches), PermissionMode(mode), ())


@pytest.mark.parametrize("command", ["ls", "git status", "make && ls", "ls && make", "cat a | wc -l"])
def test_without_a_sandbox_even_looking_is_asked_about(command: str) -> None:
    assert judged(command, works=True).decision is Decision.ALLOW
    verdict = judged(command, works=False)
    assert verdict.decision is Decision.ASK
    assert "No sandbox works" in verdict.reason


def test_without_a_sandbox_rules_are_offered_for_what_else_would_just_run() -> None:
    [exact] = judged("cat README.md", works=False).suggestions
    assert exact.rules == ("Bash(cat README.md)",)


def test_a_users_own_rule_holds_without_a_sandbox() -> None:
    assert judged("make all && make test", works=False).decision is Decision.ALLOW


def test_bypass_mode_is_a_users_word_for_every_command() -> None:
    assert judged("ls", works=False, mode="bypassPermissions").decision is Decision.ALLOW


@pytest.mark.parametrize("command", ["make all", "npm test", "ls", "echo $HOME"])
def test_leaving_the_sandbox_is_asked_about_whatever_else_speaks_for_the_command(command: str) -> None:
    """A verdict with a rule is out of reach for hooks, and no suggestion would stop this question."""
    verdict = judged(command, works=True, outside=True)
    assert (verdict.decision, verdict.rule, verdict.suggestions) == (Decision.ASK, "sandbox", ())


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("Read(secret/**)", True),
        ("Read(SECRET/**)", True),
        ("Read", False),
        ("Edit(secret/**)", False),
        ("Read(other/**)", False),
    ],
)
def test_a_file_is_kept_from_the_model_if_a_rule_denies_reading_its_path(rule: str, expected: bool) -> None:
    policy = SessionPolicy(rules=RuleSet(deny=rules(rule)), resolver=PLACES, names={})
    assert policy.forbids_reading("secret/plan.md") is expected

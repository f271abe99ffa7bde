"""Any command of up to 100,000 characters is decided with a bounded amount of work, or denied."""

import os
import time
from collections.abc import Iterator
from cProfile import Profile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robota.app.policy import kept_files
from robota.contracts.verdict import Decision
from robota.policy.decide import SessionPolicy
from robota.policy.protected.path_resolver import MAX_STEPS, PathResolver, TooMuchWork, Work
from robota.policy.rules.sources import RuleSet
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.shell.expansion import ANYTHING, files_matching
from robota.workspace.shell.reading import MAX_CHARACTERS
from tests.fuzz.grammar_fuzz import CONSTRUCTS
from tests.policy.judging import judge, rules, running

REPEATED = (
    *(" a*", "[a-", "[", "*", "*a", "?", "*/", "a/", "../", "/", "~/a ", ">a ", "<a ", "2>&1 ", "''", '"a" ', "\\a"),
    *("a ", "a;", "a|", "a\n", "a && ", "a & ", "cd a;", "env ", "timeout 5 ", "xargs ", "!", "! ", "#a\n", "\n", ";;"),
    *("(", "{", "{a,b}", "a{b", "$(a ", "$(a)", "`a` ", "$a ", "a=1 ", "a=(", "${a", "<<A\n", "<(a) ", "$((1+", "$'a'"),
    *("if a; then b; fi; ", "for i in a; do b; done; ", "case a in b) c;; esac; ", "f(){ a;}; ", "=~ ", "[[ ", "é"),
    *("=", ":a", ",a", "@", "a=b,", "git -x ", " -name a", "rm -rf $x; ", "\"'", ">>", "\u3164", "rm a ", "r*?m "),
    *("\x01", "git -x git ", "find a ", "\U0010ffff", "a\u200b", "{a,b}{c,d}", "for i in a b; do rm $i; done; "),
)
NUMBERED = (
    *("f{}", "d{}/e/f", "x{}*", ">w{}", "rm x{};", "cd d{};", "v{}=a;", "--a{}=b", "-x{}", "[a]{}", "~/x{}"),
    *("r*m?{}", "rm $a{} ", "git -x{} git", "a/b/c/d/e/f{}", "--include=a{}", "--exclude=*a{}*", "p*{};", "<<E{}\n"),
    "a/" * 1_000 + "{}",
)
BEGINNINGS = ("cat ", "x=1; ", "grep -r x ", "rm -rf ")
MODES = (PermissionMode.DEFAULT, PermissionMode.BYPASS, PermissionMode.PLAN, PermissionMode.CONFINED)
# Which rules there are decides which way a command takes through policy.
RULES = (
    RuleSet(),
    RuleSet(deny=rules("Read(secrets/**)", "Bash(git push *)", "Edit(x/*y*/**)")),
    RuleSet(allow=rules("Bash"), deny=rules("Bash(rm *)", "Read(*.pem)")),
    RuleSet(allow=rules("Bash(cat *)", "Bash(git log *)"), ask=rules("Bash(a *)")),
)
# Calls of functions, also of those in C, for one command: half as much again as the most that was counted. A measured
# time would depend on what else the machine does.
MAX_CALLS = 600_000
# What happens within a single call (searching a text, parsing it) is seen by how it grows. LONGER times the text takes
# LONGER times as long, or as many times as long as there are more calls; a quadratic search takes LONGER times more.
LONGER = 8
MAX_GROWTH = 4
# Below that, the share of what does not depend on the length is too large for a comparison.
WORTH_COMPARING_S = 0.02
TRIES = 8


def calls_for(policy: SessionPolicy, mode: PermissionMode, command: str) -> int:
    profile = Profile()
    profile.runcall(policy.judge, running(command), mode, ())
    return sum(entry.callcount for entry in profile.getstats())


def seconds_for(policy: SessionPolicy, mode: PermissionMode, command: str) -> float:
    before = time.process_time()
    policy.judge(running(command), mode, ())
    return time.process_time() - before


def grows_as_expected(policy: SessionPolicy, mode: PermissionMode, command: str, expected: float) -> bool:
    """Compares the command with its beginning, both measured at the same moment: a slow machine is slow for both."""
    whole = seconds_for(policy, mode, command)
    part = seconds_for(policy, mode, command[: len(command) // LONGER])
    return whole < WORTH_COMPARING_S or whole / part <= expected * MAX_GROWTH


def assert_bounded(policy: SessionPolicy, mode: PermissionMode, command: str) -> None:
    calls = calls_for(policy, mode, command)
    assert calls <= MAX_CALLS, f"{calls:,} calls for {len(command):,} characters: {command[:80]!r}"
    if any(grows_as_expected(policy, mode, command, LONGER) for _ in range(2)):
        return
    more_calls = calls / calls_for(policy, mode, command[: len(command) // LONGER])
    expected = max(LONGER, more_calls)
    assert any(grows_as_expected(policy, mode, command, expected) for _ in range(TRIES)), f"{command[:80]!r}"


def repeated(unit: str, length: int = MAX_CHARACTERS) -> Iterator[str]:
    count = length // len(unit) + 1
    text = " ".join(unit.format(number) for number in range(count)) if unit in NUMBERED else unit * count
    for beginning in BEGINNINGS:
        yield f"{beginning}{text}"[:length]


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> PathResolver:
    root = tmp_path_factory.mktemp("workspace").resolve()
    for number in range(300):
        (root / f"a{number}.txt").touch()
        (root / f"d{number % 20}").mkdir(exist_ok=True)
        (root / f"d{number % 20}" / f"f{number}").touch()
    return PathResolver(root=root, home=root.parent, real=os.path.realpath, matching=files_matching)


@pytest.fixture(scope="module")
def policies(resolver: PathResolver) -> list[SessionPolicy]:
    (resolver.root / ".robotaignore").write_text("secret/\n*.key\n")
    found = [SessionPolicy(rules=each, resolver=resolver, names={}, files=kept_files(resolver.root)) for each in RULES]
    for policy in found:
        # The first command loads what reads commands.
        policy.judge(running("ls"), PermissionMode.DEFAULT, ())
    return found


@pytest.mark.parametrize("unit", [*REPEATED, *NUMBERED], ids=lambda unit: unit[:20])
def test_every_sign_and_word_is_judged_with_bounded_work_however_often_it_is_said(
    unit: str, policies: list[SessionPolicy]
) -> None:
    for number, command in enumerate(repeated(unit)):
        turn = number + len(unit)
        assert_bounded(policies[turn % len(policies)], MODES[turn // 4 % 4], command)
        assert_bounded(policies[(turn + 1) % len(policies)], MODES[turn // 4 % 4], command[:7_000])


@pytest.mark.parametrize("part", range(8))
def test_every_construct_of_the_shell_is_judged_with_bounded_work_however_often_it_is_said(
    part: int, policies: list[SessionPolicy]
) -> None:
    for turn, construct in enumerate(CONSTRUCTS[part::8]):
        unit = construct.replace("@", "a")
        for number, command in enumerate(list(repeated(unit))[turn % 2 :: 2]):
            assert_bounded(policies[(turn // 2 + number) % len(policies)], MODES[turn % 4], command)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    st.lists(st.sampled_from([*REPEATED, *(each.replace("@", "a") for each in CONSTRUCTS)]), min_size=1, max_size=5),
    st.sampled_from(BEGINNINGS),
    st.sampled_from([MAX_CHARACTERS, 20_000, 4_000, 1_000]),
    st.sampled_from(range(4)),
    st.sampled_from(MODES),
)
def test_mixtures_are_judged_with_bounded_work(
    policies: list[SessionPolicy], units: list[str], beginning: str, length: int, which: int, mode: PermissionMode
) -> None:
    unit = "".join(units)
    assert_bounded(policies[which], mode, f"{beginning}{unit * (length // len(unit) + 1)}"[:length])


def test_a_command_that_names_too_much_is_denied(resolver: PathResolver) -> None:
    verdict = judge("cat " + " ".join(f"f{number}" for number in range(3_000)), resolver=resolver)
    assert verdict.decision is Decision.DENY and "smaller commands" in verdict.reason
    assert judge("cat " + " ".join(f"f{number}" for number in range(300)), resolver=resolver).decision is Decision.ALLOW
    assert judge("a " * 5_000, "bypassPermissions").decision is Decision.DENY


def test_a_long_here_document_is_asked_about_where_nothing_is_denied(resolver: PathResolver) -> None:
    command = "cat > out <<E\n" + " ".join(f"word{number}/x" for number in range(5_000)) + "\nE"
    assert judge(command, resolver=resolver).decision is Decision.ASK
    assert judge(command, resolver=resolver, allow=["Bash"]).decision is Decision.DENY
    assert judge(command, resolver=resolver, deny=["Read(secrets/**)"]).decision is Decision.DENY


def test_steps_are_counted_and_not_the_time() -> None:
    work = Work()
    work.spend(MAX_STEPS)
    with pytest.raises(TooMuchWork):
        work.spend(1)


def test_a_pattern_that_is_too_strange_may_mean_anything(tmp_path: Path) -> None:
    assert files_matching(str(tmp_path), "[a-" * 2_000) == ANYTHING
    assert files_matching(str(tmp_path), "[a]" * 100) == ANYTHING

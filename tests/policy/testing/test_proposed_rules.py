"""What `policy simulate` proposes, for random histories and the real policy: never a rule for what was refused."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robota.commands.policy.bench import PolicyBench
from robota.config.settings.schema import Permissions
from robota.contracts.verdict import Decision
from robota.policy.testing.replay import RecordedCall, Replayed, replay
from robota.protocol.permission_mode import PermissionMode

WORDS = (
    "mkdir",
    "touch",
    "git add",
    "cp x",
    "git commit -m",
    "pip install",
    "curl https://a.example",
    "rm -r",
    "X=1 mkdir",
)
ENDS = ("", " a", " b", " 'a b'", " *", " $X", " a/../b", " --force", " ../x")
TAILS = ("", " > out", " >> a/out", " | sh", " | tee b", " && rm a", " ; mkdir a", " &", " < a", " 2>&1", " || true")
COMMANDS = st.builds("".join, st.tuples(*map(st.sampled_from, (WORDS, ENDS, TAILS))))
DIRECTORIES = st.sampled_from((None, "a", "a/c"))
PATHS = ("a/x.py", "a/y.py", "a/c/z.py", "b/x.py", "x.py", "a/[x].py")


def _command(command: str, cwd: str | None) -> tuple[str, dict[str, Any]]:
    return "execute_command", {"command": command, **({"cwd": cwd} if cwd else {})}


def _write(path: str) -> tuple[str, dict[str, Any]]:
    return "write_to_file", {"path": path, "content": "x"}


CALLS = st.one_of(st.builds(_command, COMMANDS, DIRECTORIES), st.builds(_write, st.sampled_from(PATHS)))
MODES = st.sampled_from(
    (PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS, PermissionMode.PLAN, PermissionMode.BYPASS)
)
HISTORIES = st.lists(st.tuples(CALLS, MODES, st.booleans()), min_size=2, max_size=10)


def recorded(tool: str, input: dict[str, Any], mode: PermissionMode, *, said_yes: bool) -> RecordedCall:
    return RecordedCall(
        session="s", tool=tool, input=input, decision=Decision.ASK, permission_mode=mode, said_yes=said_yes
    )


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> PolicyBench:
    root = tmp_path_factory.mktemp("workspace")
    for directory in ("a/c", "b"):
        (root / directory).mkdir(parents=True)
    return PolicyBench.open(root, {"HOME": str(root / "home")}, None, Permissions())


def simulated(bench: PolicyBench, *calls: RecordedCall) -> Replayed:
    return replay(calls, lambda call, rules: bench.judge_again(call, None, rules))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(history=HISTORIES)
def test_nothing_that_was_refused_is_allowed_by_what_is_proposed(
    bench: PolicyBench, history: list[tuple[tuple[str, dict[str, Any]], PermissionMode, bool]]
) -> None:
    calls = [recorded(*call, mode, said_yes=yes) for call, mode, yes in history]
    rules = simulated(bench, *calls).sparing.rules
    modes = {call.permission_mode for call in calls if call.said_yes}
    for call in calls:
        for mode in modes if call.said_yes is False else ():
            before, after = (bench.judge(call.tool, call.input or {}, mode, given) for given in ((), rules))
            assert after.decision == before.decision or after.decision is not Decision.ALLOW, (call, rules)


def test_a_refusal_counts_whatever_the_permission_mode_was(bench: PolicyBench) -> None:
    """Rules hold in every mode; in plan mode a command is not allowed by one, and with bypass all are without any."""
    yes = [
        recorded("execute_command", {"command": f"mkdir {each}"}, PermissionMode.DEFAULT, said_yes=True)
        for each in "ab"
    ]
    wide = simulated(bench, *yes).sparing
    assert wide.rules == ("Bash(mkdir *)",) and wide.spared == 2
    for mode in PermissionMode:
        no = recorded("execute_command", {"command": "mkdir c"}, mode, said_yes=False)
        found = simulated(bench, *yes, no).sparing
        assert (found.rules, found.spared) == (("Bash(mkdir a)", "Bash(mkdir b)"), 2), mode


def test_what_was_refused_and_would_be_allowed_anyway_is_told(bench: PolicyBench) -> None:
    """That is no fault of the proposed rules, which are found all the same."""
    allowing = PolicyBench.open(
        bench.policy.resolver.root, {"HOME": "/nowhere"}, None, Permissions(allow=("Bash(touch *)",))
    )
    no = recorded("execute_command", {"command": "touch x"}, PermissionMode.DEFAULT, said_yes=False)
    yes = recorded("execute_command", {"command": "mkdir a"}, PermissionMode.DEFAULT, said_yes=True)
    found = simulated(allowing, no, yes)
    assert found.refused_allowed == 1 and found.sparing.rules == ("Bash(mkdir a)",)
    assert simulated(bench, no, yes).refused_allowed == 0


def test_only_calls_that_are_judged_otherwise_count_as_changed(bench: PolicyBench) -> None:
    asked = recorded("execute_command", {"command": "make"}, PermissionMode.DEFAULT, said_yes=True)
    looked = msgspec.structs.replace(asked, input={"command": "ls"})
    found = simulated(bench, asked, looked, msgspec.structs.replace(asked, input=None))
    assert [(each.call, each.verdict.decision) for each in found.changed] == [(looked, Decision.ALLOW)]
    assert (found.calls, found.unknown, found.before, found.now) == (3, 1, {"ask": 2}, {"ask": 1, "allow": 1})


def test_what_a_hook_asked_about_is_asked_again_unless_it_is_denied_now(bench: PolicyBench) -> None:
    def decided(command: str) -> Decision:
        asked = recorded("execute_command", {"command": command}, PermissionMode.DEFAULT, said_yes=True)
        found = simulated(bench, msgspec.structs.replace(asked, is_asked_by_hook=True))
        return Decision(*found.now)

    assert decided("ls") is Decision.ASK
    assert decided("env " * 20 + "ls") is Decision.DENY

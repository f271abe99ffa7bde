"""Confined mode in policy: only the proof answers the question of the mode, and it answers nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.verdict import Decision
from robota.policy.decide import decide
from robota.policy.stages import PolicyContext
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.confinement import Confined, Confinement, NotConfined
from tests.policy.judging import PLACES, rules, running
from tests.workspace.test_confinement import PROVEN

PROOF = Confined(PROVEN)
WITHOUT = (None, NotConfined("It cannot run unasked: it is a test."))
NEED_THE_PROOF = (
    "python3 x.py",
    "make",
    "for i in 1 2; do ./x; done",
    "rm -r build",
    "git commit -m x",
    "cat /etc/hosts",
)
ASK_ANYWAY = (
    "git push",
    "git config a.b c",
    "rm -rf /",
    "rm -rf .",
    "echo x > AGENTS.md",
    "a=1; git rebase main",
    "cat .env",
)


def decision(
    command: str,
    proof: Confinement | None,
    mode: PermissionMode,
    *,
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
) -> Decision:
    context = PolicyContext(
        mode=mode, resolver=PLACES, confinement=proof, sandboxed=True, ask=rules(*ask), deny=rules(*deny)
    )
    return decide(running(command), context).decision


@pytest.mark.parametrize("command", NEED_THE_PROOF)
def test_with_the_proof_it_is_allowed_and_without_it_asked(command: str) -> None:
    assert decision(command, PROOF, PermissionMode.CONFINED) is Decision.ALLOW
    assert {decision(command, none, PermissionMode.CONFINED) for none in WITHOUT} == {Decision.ASK}


@pytest.mark.parametrize("command", ASK_ANYWAY)
def test_the_proof_does_not_answer_for_these(command: str) -> None:
    assert decision(command, PROOF, PermissionMode.CONFINED) is not Decision.ALLOW


@given(
    st.lists(st.sampled_from(NEED_THE_PROOF), min_size=1, max_size=3),
    st.sampled_from((*WITHOUT, PROOF)),
    st.sampled_from(PermissionMode),
)
def test_silence_in_any_combination_implies_the_proof_or_bypass(
    commands: list[str], proof: Confinement | None, mode: PermissionMode
) -> None:
    allowed = decision(" && ".join(commands), proof, mode) is Decision.ALLOW
    is_proven = mode is PermissionMode.CONFINED and isinstance(proof, Confined)
    assert allowed == (is_proven or mode is PermissionMode.BYPASS)


def test_deny_and_ask_rules_win_over_the_proof() -> None:
    assert decision("make", PROOF, PermissionMode.CONFINED, deny=("Bash(make)",)) is Decision.DENY
    assert decision("make", PROOF, PermissionMode.CONFINED, ask=("Bash(make)",)) is Decision.ASK

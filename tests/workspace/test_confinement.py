"""The proof of confinement: whatever is unknown or missing, there is none, and without it nothing is allowed."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.confinement import Confined, ConfinementFacts, NotConfined, confinement
from robota.workspace.steering_files import Survey

PROVEN = ConfinementFacts(
    sandbox="bubblewrap",
    hides_home=True,
    has_machine_network=False,
    is_home=False,
    is_trusted=True,
    has_checkpoints=True,
    checkpoint="0" * 40,
    unsaved=("big",),
    survey=Survey(packages=(".venv",)),
    notes_refs=True,
    shows_kept_files=False,
    max_growth_bytes=1,
)
# Every value that a field must have, one that it must not have, and unknown.
VALUES = {
    "sandbox": ("bubblewrap", "landlock", "none", None),
    "hides_home": (True, False, None),
    "has_machine_network": (False, True, None),
    "is_home": (False, True, None),
    "is_trusted": (True, False, None),
    "has_checkpoints": (True, False, None),
    "checkpoint": ("0" * 40, "", None),
    "unsaved": ((), ("big",), None),
    "survey": (Survey(), Survey(problem="too large"), None),
    "notes_refs": (True, False, None),
    "shows_kept_files": (False, True, None),
    "max_growth_bytes": (1, 0, None),
}
GOOD = {name: values[:1] if name != "unsaved" else values[:2] for name, values in VALUES.items()}


def test_every_fact_is_listed_here() -> None:
    assert {*VALUES, "why_no_sandbox"} == set(ConfinementFacts.__struct_fields__)


@given(st.fixed_dictionaries({name: st.sampled_from(values) for name, values in VALUES.items()}))
def test_a_proof_implies_every_condition(chosen: dict[str, Any]) -> None:
    proof = confinement(ConfinementFacts(**chosen))
    assert isinstance(proof, Confined) == all(chosen[name] in GOOD[name] for name in VALUES)


@pytest.mark.parametrize("name", [name for name in VALUES])
def test_each_condition_alone_prevents_it_and_is_named(name: str) -> None:
    for value in VALUES[name]:
        if value in GOOD[name]:
            continue
        facts = msgspec.structs.replace(PROVEN, **{name: value})
        proof = confinement(facts)
        assert isinstance(proof, NotConfined) and proof.reason.startswith("It cannot run unasked: ")
        with pytest.raises(ValueError):
            Confined(facts)


def test_a_proof_cannot_be_changed_into_one_of_other_facts() -> None:
    proof = Confined(PROVEN)
    with pytest.raises(ValueError):
        msgspec.structs.replace(proof, facts=ConfinementFacts())
    assert proof.read_only == ("big", ".venv")

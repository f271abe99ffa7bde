"""Random attacks in random workspaces: no byte outside the allowed places changes, appears or is read."""

import os

import pytest

from tests.hostile.attacks.environments import Environment, missing
from tests.hostile.attacks.random_rounds import play

ROUNDS = int(os.environ.get("ROBOTA_HOSTILE_ROUNDS", "2"))


@pytest.mark.parametrize("seed", range(1, ROUNDS + 1))
@pytest.mark.parametrize("environment", [each for each in Environment if each.is_confined], ids=lambda each: each.value)
def test_a_round_of_random_attacks_does_no_damage(environment: Environment, seed: int) -> None:
    problem = missing(environment)
    if problem is not None:
        pytest.skip(problem)
    assert "\n".join(play(environment, seed)) == ""


def test_the_same_attacks_do_damage_where_nothing_confines_them() -> None:
    """Otherwise the rounds above would prove nothing."""
    assert any(play(Environment.UNCONFINED, seed) for seed in range(1, 3))

"""Each known attack in each environment: nothing outside changes, and nothing that is hidden is read."""

import pytest

from tests.hostile.attacks.environments import Environment
from tests.hostile.attacks.ground import Ground
from tests.hostile.attacks.named_attacks import ATTACKS, HARMFUL, Attack

CONFINED = [environment for environment in Environment if environment.is_confined]


def words(value: "Attack | Environment") -> str:
    return value.value if isinstance(value, Environment) else value.__name__


@pytest.mark.parametrize("environment", CONFINED, ids=words)
@pytest.mark.parametrize("attack", ATTACKS, ids=words)
def test_nothing_outside_changes_and_nothing_hidden_is_read(ground: Ground, attack: Attack) -> None:
    attack(ground)
    assert "\n".join(ground.damage()) == ""


@pytest.mark.parametrize("environment", [Environment.UNCONFINED], ids=words)
@pytest.mark.parametrize("attack", HARMFUL, ids=words)
def test_the_attack_does_harm_where_nothing_confines_it(ground: Ground, attack: Attack) -> None:
    """Otherwise the test above would prove nothing."""
    attack(ground)
    assert ground.damage()

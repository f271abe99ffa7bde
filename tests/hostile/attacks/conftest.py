"""A ground for each attack, in each environment that this machine has."""

from collections.abc import Iterator

import pytest

from tests.hostile.attacks.environments import Environment, missing
from tests.hostile.attacks.ground import Ground
from tests.hostile.attacks.random_rounds import new_ground


@pytest.fixture
def ground(environment: Environment) -> Iterator[Ground]:
    """A fresh one, if attacks can be tried in that environment."""
    problem = missing(environment)
    if problem is not None:
        pytest.skip(problem)
    with new_ground(environment) as fresh:
        yield fresh

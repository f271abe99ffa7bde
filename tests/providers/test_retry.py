"""When to ask again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.config.errors import ConfigError
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.retry import RetryPolicy, delay, policy_from_options

POLICY = RetryPolicy()
MIDDLE = 0.5


def fault(kind: FaultKind = FaultKind.SERVER, retry_after_s: float | None = None) -> ProviderFault:
    return ProviderFault(kind, "x", retry_after_s=retry_after_s)


def test_the_wait_doubles_up_to_a_cap_and_then_ends() -> None:
    waits = [delay(POLICY, attempt, fault(), 0, MIDDLE) for attempt in range(10)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, None, None]


def test_a_fault_with_little_hope_is_given_up_sooner_but_never_later() -> None:
    hopeless = ProviderFault(FaultKind.CONNECTION, "nobody listens", most_retries=2)
    assert [delay(POLICY, attempt, hopeless, 0, MIDDLE) for attempt in range(4)] == [0.5, 1, None, None]
    impatient = RetryPolicy(max_retries=1)
    assert delay(impatient, 1, hopeless, 0, MIDDLE) is None


@pytest.mark.parametrize("kind", [kind for kind in FaultKind if not fault(kind).retryable])
def test_what_will_not_get_better_is_not_tried_again(kind: FaultKind) -> None:
    assert delay(POLICY, 0, fault(kind), 0, MIDDLE) is None


@pytest.mark.parametrize(
    ("asked", "waited", "wait"),
    [
        (0, 0, 0.5),
        (5, 0, 5),
        (0.1, 0, 0.5),
        (3600, 0, None),
        (60, 250, None),
        (50, 250, 50),
        (None, 300, None),
        (None, 299.9, pytest.approx(0.1)),
    ],
)
def test_retry_after_is_honoured_unless_patience_would_run_out(
    asked: float | None, waited: float, wait: float | None
) -> None:
    assert delay(POLICY, 0, fault(retry_after_s=asked), waited, MIDDLE) == wait


@given(st.integers(0, 100), st.floats(0, 400), st.floats(0, 1), st.none() | st.floats(0, 1000))
def test_the_wait_is_never_shorter_than_asked_nor_longer_than_what_is_left(
    attempt: int, waited: float, random: float, asked: float | None
) -> None:
    wait = delay(POLICY, attempt, fault(retry_after_s=asked), waited, random)
    if wait is not None:
        assert (asked or 0) <= wait <= POLICY.total_s - waited


def test_jitter_stays_within_a_fifth() -> None:
    assert delay(POLICY, 1, fault(), 0, 0.0) == pytest.approx(0.8)
    assert delay(POLICY, 1, fault(), 0, 1.0) == pytest.approx(1.2)


def test_a_profile_can_set_the_patience() -> None:
    policy = policy_from_options({"maxRetries": 2, "baseMs": 10, "totalMs": 1000})
    assert (policy.max_retries, policy.base_s, policy.total_s) == (2, 0.01, 1)
    assert policy_from_options(None) == RetryPolicy()


@pytest.mark.parametrize("options", [{"maxRetries": "many"}, {"maxRetires": 1}, [], {"baseMs": -1}])
def test_wrong_options_are_named(options: object) -> None:
    with pytest.raises(ConfigError, match=r"options\.retry"):
        policy_from_options(options)

"""The order of semantic versions."""

from hypothesis import given
from hypothesis import strategies as st

from robota.extensions.plugins.versions import is_older

IN_ORDER = (
    "0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
    "1.0.0-rc.1", "1.0.0", "1.9.0", "v1.10.0", "2.0.0+build",
)  # fmt: skip


def test_versions_are_ordered_as_semver_says() -> None:
    for place, version in enumerate(IN_ORDER):
        assert [is_older(version, other) for other in IN_ORDER] == [place < at for at in range(len(IN_ORDER))]


def test_an_invalid_version_is_never_older() -> None:
    for odd in ("", "latest", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "9" * 400 + ".0.0"):
        assert not is_older(odd, "1.0.0") and not is_older("1.0.0", odd)


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    assert not (is_older(one, other) and is_older(other, one))

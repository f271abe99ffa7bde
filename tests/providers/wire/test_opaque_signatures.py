"""Seals: read by who wrote them, and by nobody else."""

from hypothesis import given
from hypothesis import strategies as st

from robota.providers.wire.opaque_signatures import is_sealed, opened, seal
from tests.providers.wire_shapes import json_of

OWNERS = st.sampled_from(["anthropic", "openai", "gemini"])


@given(OWNERS, OWNERS, json_of("next last rs_1"))
def test_a_seal_opens_for_its_owner_only(owner: str, reader: str, content: object) -> None:
    signature = seal(owner, content)
    assert is_sealed(signature)
    assert opened(reader, signature) == (content if reader == owner else None)


@given(OWNERS, st.none() | st.text(max_size=20) | st.text(max_size=20).map("openai:".__add__))
def test_what_is_no_seal_does_no_harm(owner: str, signature: str | None) -> None:
    opened(owner, signature)


def test_the_signature_of_a_server_is_not_taken_for_a_seal() -> None:
    assert not is_sealed("EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk=")

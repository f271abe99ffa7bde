"""`robota.lock`: whatever stands in it, it agrees to nothing that was not agreed to, and is never written over."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st

from robota.config.errors import ConfigError
from robota.config.trust.lock_file import Agreement, AgreementKind, agree, agreements, lock_path
from robota.config.trust.outside_files import OutsideFileAnswers

YES = Agreement(said="yes", digest="0", given_ms=0)
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["workspaces", "plugins", "outside", "said", "digest", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(st.binary(max_size=60) | JSON.map(json.dumps).map(str.encode))
@example(b"[" * 9_000)
@example(b'{"x": ' + b"[" * 9_000)
def test_any_bytes_are_agreements_or_a_plain_refusal(data: bytes) -> None:
    with TemporaryDirectory() as home:
        env = {"ROBOTA_HOME": home}
        lock_path(env).write_bytes(data)
        assert OutsideFileAnswers(Path(home), env).is_agreed("/etc/passwd", b"root") is None
        try:
            agreements(AgreementKind.WORKSPACE, env)
        except ConfigError as error:
            assert "nothing is trusted" in str(error)
            _is_left_as_it_is(env, data)


def _is_left_as_it_is(env: dict[str, str], data: bytes) -> None:
    try:
        agree(AgreementKind.PLUGIN, "lint", YES, (), env)
    except ConfigError:
        assert lock_path(env).read_bytes() == data
        return
    raise AssertionError("what cannot be read was replaced")

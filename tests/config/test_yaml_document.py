"""YAML from a repository is read within limits or refused with a clear error; reading never hangs."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.config.yaml_document import YamlProblem, read_yaml

LIMIT_S = 5.0


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        "a: &a\n  b: *a\n",
        "- " * 60 + "x",
        "[" * 100 + "]" * 100,
        "{a: " * 100 + "}" * 100,
        "[" * 3_000,
        "a: !!bool x",
        "a: !!timestamp x",
        "a: !!int ''",
        "a: !!python/object/apply:os.system [id]",
        "a: !custom x",
        "a: 2001-99-99",
        "a: " + "1:" * 900 + "1.0",
        "a: " + "9" * 5_000,
        "a: " + "1:" * 50_000 + "1",
        "a: b\n" * 60_000,
        "x\n" * 80_000,
        "-\n" * 99_000,
        "? " * 60,
        "a: 'never ends",
        "\x00",
        "a:\tb: c",
        "- [a, b\n- }",
        "%YAML 9.9\n---\na",
        "a: b\n---\nc: d\n",
    ],
)
def test_what_is_too_much_or_no_yaml_is_refused_in_time(text: str) -> None:
    before = time.process_time()
    with pytest.raises(YamlProblem) as refused:
        read_yaml(text)
    assert time.process_time() - before < LIMIT_S
    assert str(refused.value) and "\n" not in str(refused.value)


@given(st.text(st.sampled_from("-:?[]{}&*!|>'\"%@`#, \n\t0123456789abc.~=<é\ufeff"), max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(YamlProblem):
        read_yaml(text)


def test_ordinary_yaml_is_read() -> None:
    assert read_yaml("a: [1, 2.5, true, null]\nb:\n  - x: 'y'\n    z: |\n      text\n") == {
        "a": [1, 2.5, True, None],
        "b": [{"x": "y", "z": "text\n"}],
    }
    assert read_yaml("") is None

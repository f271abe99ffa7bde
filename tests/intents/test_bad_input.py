"""Whatever stands in `.orchestration/`: a clear error or a right answer, and nothing allowed by accident."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robota.intents.intent import IntentProblem, read_intents
from robota.intents.intent_files import IntentFiles
from robota.intents.trace_verification import verify_trace
from robota.intents.upkeep.traced_intents import traced_intents
from tests.intents.project import INTENTS, SELECT, intents, results, told, write

GOOD: dict[str, Any] = {"id": "INT-001", "name": "a", "status": "IN_PROGRESS", "owned_scope": ["src/**"]}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["id", "name", "status", "owned_scope", "constraints", "acceptance_criteria", "description", "more"]


@given(st.sampled_from(FIELDS), VALUES)
def test_any_value_in_any_field_is_read_or_refused(field: str, value: Any) -> None:
    text = json.dumps({"active_intents": [{**GOOD, field: value}]})
    try:
        [intent] = read_intents(text)
    except IntentProblem as problem:
        assert str(problem)
        return
    assert not intent.scope.covers("README.md") or field == "owned_scope"
    assert not intent.scope.covers("../x") and not intent.scope.covers(".")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_intents(text)
    except IntentProblem as problem:
        assert str(problem)


@given(st.text(max_size=30))
@example("**")
@example("*")
def test_a_pattern_never_owns_what_lies_outside(pattern: str) -> None:
    try:
        [intent] = read_intents(json.dumps({"active_intents": [{**GOOD, "owned_scope": [pattern]}]}))
    except IntentProblem:
        return
    assert not intent.scope.covers("..") and not intent.scope.covers("../x")


@given(st.lists(st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode()), max_size=6))
def test_any_lines_are_a_trace_that_can_be_looked_at(lines: list[bytes]) -> None:
    verified = verify_trace(lines)
    assert verified.records == 0 and verified.foreign <= len(lines)
    traced_intents(lines)


@pytest.mark.parametrize(
    "pattern",
    ["/etc/**", "../**", "src/../../x", "!src", "~/x", "src\\x", "", " ", "a\u202eb", "x" * 2_000, "a\x00b", "#x"],
)
def test_patterns_that_lead_out_or_hide_something_are_refused(pattern: str) -> None:
    with pytest.raises(IntentProblem):
        read_intents(json.dumps({"active_intents": [{**GOOD, "owned_scope": [pattern]}]}))


@pytest.mark.parametrize("path", ["SRC/auth/a.py", "src/Auth/a.py", "src/ａuth/a.py", "src/auth​/a.py"])
def test_a_name_that_only_looks_like_one_in_scope_is_not(workspace: Path, path: str) -> None:
    intents(workspace)
    assert told(results(workspace, SELECT, write(path))[1])["code"] == "REQ-001"


def test_an_intent_that_vanishes_between_calls_allows_nothing_more(workspace: Path) -> None:
    directory = intents(workspace)
    files = IntentFiles(workspace)
    assert files.intent("INT-001") is not None
    (directory / "active_intents.yaml").unlink()
    with pytest.raises(IntentProblem, match="is gone"):
        files.intents()


def test_many_intents_and_a_large_file_have_limits() -> None:
    many = [{**GOOD, "id": f"INT-{number}"} for number in range(501)]
    with pytest.raises(IntentProblem, match="500"):
        read_intents(json.dumps({"active_intents": many}))
    with pytest.raises(IntentProblem):
        read_intents(INTENTS + "#" * 300_000)


def test_intentignore_that_cannot_be_read_denies(workspace: Path) -> None:
    directory = intents(workspace)
    (directory / ".intentignore").write_bytes(b"\xff\xfe\x00")
    seen = results(workspace, SELECT, write("src/auth/a.py"))
    assert "HOOK-INT" in seen[1] and not (workspace / "src").exists()


def test_a_file_of_intents_that_is_too_large_lets_nothing_be_changed(workspace: Path) -> None:
    intents(workspace, INTENTS + "#" * 1_000_001)
    [said] = results(workspace, SELECT)
    assert "has more than 1,000,000 bytes" in said

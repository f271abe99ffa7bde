"""The file of intents is changed as text: comments, order and odd writing of people stay."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.intents.intent import IntentProblem, IntentStatus, read_intents
from robota.intents.intent_files import IntentFiles
from robota.intents.upkeep.intent_text import (
    HEADER,
    NewIntent,
    add_intent,
    next_id,
    set_status,
    with_intent,
    with_status,
)

COMMENTED = """\
# ours
active_intents:   # the list
  # first
  - id: INT-001
    name: One          # a name
    status: "PENDING"  # why
    owned_scope: [src/**]
    owner: somebody    # not ours to know

  - {id: INT-002, name: Two, status: done, owned_scope: []}  # in braces
# the end
other: kept
"""


@pytest.mark.parametrize(("id", "written"), [("INT-001", '"PENDING"'), ("INT-002", "done")])
def test_only_the_status_changes(id: str, written: str) -> None:
    changed = with_status(COMMENTED, id, IntentStatus.IN_PROGRESS)
    assert changed == COMMENTED.replace(f"status: {written}", "status: IN_PROGRESS")


def test_windows_line_ends_stay() -> None:
    text = COMMENTED.replace("\n", "\r\n")
    assert with_status(text, "INT-001", IntentStatus.BLOCKED) == text.replace('"PENDING"', "BLOCKED")


def test_a_new_intent_stands_at_the_end_of_the_list() -> None:
    new = NewIntent(name='a "new": one # x', owned_scope=("docs/**",), acceptance_criteria=("run: make docs",))
    changed = with_intent(COMMENTED, "INT-003", new)
    assert [each.id for each in read_intents(changed)] == ["INT-001", "INT-002", "INT-003"]
    assert read_intents(changed)[2].name == 'a "new": one # x' and read_intents(changed)[2].commands == ("make docs",)
    assert all(line in changed.splitlines() for line in COMMENTED.splitlines())


@pytest.mark.parametrize("text", ["active_intents: []\n", "active_intents: [] # none yet\nother: 1\n", HEADER])
def test_the_first_one_is_written_into_an_empty_list(text: str) -> None:
    changed = with_intent(text, "INT-001", NewIntent(name="One", owned_scope=("a",)))
    assert [each.id for each in read_intents(changed)] == ["INT-001"]


@pytest.mark.parametrize(
    "text",
    [
        "active_intents: [{id: INT-001, name: a, status: PENDING, owned_scope: []}]\n",
        "{active_intents: [{id: INT-001, name: a, status: PENDING, owned_scope: []}]}\n",
    ],
)
def test_what_cannot_be_changed_for_a_user_is_left_to_them(text: str) -> None:
    with pytest.raises(IntentProblem, match="by hand"):
        with_intent(text, "INT-002", NewIntent(name="b", owned_scope=("b",)))


def test_an_intent_that_is_not_there_is_an_error() -> None:
    with pytest.raises(IntentProblem, match="no intent INT-009"):
        with_status(COMMENTED, "INT-009", IntentStatus.BLOCKED)


@given(st.text(min_size=1, max_size=40), st.text(max_size=40))
def test_any_words_can_be_a_name_or_a_constraint(name: str, constraint: str) -> None:
    new = NewIntent(name=name, owned_scope=("a/**",), constraints=(constraint,))
    try:
        changed = with_intent(HEADER, "INT-001", new)
    except IntentProblem:
        return  # characters that no YAML may have
    [intent] = read_intents(changed)
    assert (intent.name, intent.constraints) == (name, (constraint,))


def test_a_byte_order_mark_stays(tmp_path: Path) -> None:
    (tmp_path / ".orchestration").mkdir()
    path = tmp_path / ".orchestration/active_intents.yaml"
    path.write_text(COMMENTED, encoding="utf-8-sig")
    set_status(IntentFiles(tmp_path), "INT-001", IntentStatus.BLOCKED)
    assert path.read_bytes() == COMMENTED.replace('"PENDING"', "BLOCKED").encode("utf-8-sig")


def test_a_file_behind_a_link_is_not_written(tmp_path: Path) -> None:
    (tmp_path / ".orchestration").mkdir()
    (tmp_path / "elsewhere").write_text(COMMENTED)
    (tmp_path / ".orchestration/active_intents.yaml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises((IntentProblem, OSError)):
        set_status(IntentFiles(tmp_path), "INT-001", IntentStatus.BLOCKED)
    with pytest.raises((IntentProblem, OSError)):
        add_intent(IntentFiles(tmp_path), NewIntent(name="x", owned_scope=("x",)))
    assert (tmp_path / "elsewhere").read_text() == COMMENTED


def test_ids_go_on_from_the_last_one() -> None:
    def ids(*written: str) -> str:
        entries = [{"id": id, "status": "PENDING", "owned_scope": []} for id in written]
        return next_id(read_intents(json.dumps({"active_intents": entries})))

    assert (ids(), ids("INT-009"), ids("REQ-7", "INT-010", "REQ-3"), ids("AUTH-X")) == (
        "INT-001",
        "INT-010",
        "REQ-8",
        "INT-001",
    )

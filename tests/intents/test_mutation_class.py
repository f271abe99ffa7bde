"""What kind of change an edit is: declared by the model, checked by the syntax tree, recorded as checked."""

from pathlib import Path
from typing import Any

import pytest

from robota.intents.trace_record import VENDOR
from tests.engine.stage import call
from tests.intents.project import SELECT, intents, results, told, traced

BEFORE = "def limit(size):\n    return size < 10\n"


def edited(workspace: Path, old: str, new: str, **declared: Any) -> tuple[str, dict[str, Any]]:
    """What the model was told of an edit, and what the trace has of it."""
    intents(workspace)
    (workspace / "src/auth").mkdir(parents=True, exist_ok=True)
    (workspace / "src/auth/a.py").write_text(BEFORE)
    read = call("read_file", path="src/auth/a.py")
    edit = call("edit_file", path="src/auth/a.py", old_string=old, new_string=new, **declared)
    said = results(workspace, SELECT, read, edit)[2]
    return said, traced(workspace)[-1]["metadata"][VENDOR] if traced(workspace) else {}


@pytest.mark.parametrize(
    ("old", "new", "declared", "recorded", "warned"),
    [
        ("<", "<=", "AST_REFACTOR", "INTENT_EVOLUTION", True),
        ("<", "<=", "INTENT_EVOLUTION", "INTENT_EVOLUTION", False),
        (BEFORE, "def limit(length):  # at most\n    return length < 10\n", "AST_REFACTOR", "AST_REFACTOR", False),
        (BEFORE, "def limit(n):\n    return n < 10\n", "INTENT_EVOLUTION", "AST_REFACTOR", True),
        ("<", "<=", None, "INTENT_EVOLUTION", False),
    ],
)
def test_the_tree_decides_and_the_model_is_told_where_it_was_wrong(
    workspace: Path, old: str, new: str, declared: str | None, recorded: str, warned: bool
) -> None:
    said, ours = edited(workspace, old, new, **({} if declared is None else {"mutation_class": declared}))
    assert (ours["mutation_class"], ours["declared_class"], ours["classifier"]) == (recorded, declared, "syntax tree")
    assert (f"recorded as {recorded}" in said) == warned


def test_another_word_is_refused(workspace: Path) -> None:
    said, _ = edited(workspace, "<", "<=", mutation_class="COSMETIC")
    assert told(said)["code"] == "REQ-005" and (workspace / "src/auth/a.py").read_text() == BEFORE


def test_a_call_for_another_intent_than_the_active_one_is_refused(workspace: Path) -> None:
    said, _ = edited(workspace, "<", "<=", intent_id="INT-003")
    assert told(said)["code"] == "REQ-004" and (workspace / "src/auth/a.py").read_text() == BEFORE


def test_a_file_that_nobody_can_parse_has_evolved(workspace: Path) -> None:
    intents(workspace)
    arguments = {"path": "src/auth/a.txt", "content": "x", "mutation_class": "AST_REFACTOR"}
    results(workspace, SELECT, call("write_to_file", **arguments))
    ours = traced(workspace)[-1]["metadata"][VENDOR]
    assert (ours["mutation_class"], ours["classifier"]) == ("INTENT_EVOLUTION", "default")

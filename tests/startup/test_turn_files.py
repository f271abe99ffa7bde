"""How many files somebody has to open who wants to follow one turn is a contract, and so is which they are."""

import re

from benchmarks.bench import ROOT, bench
from benchmarks.turn_files import DRAWN, MAX_FILES, trace

# What only some turns run: calls that a model writes as text, and the types of what is streamed.
NOT_IN_THESE_TURNS = {"engine/model/xml_calls.py", "providers/chunks.py"}


def test_one_turn_runs_through_few_files() -> None:
    with bench() as place:
        turns = trace(place)
    assert turns.keys() == MAX_FILES.keys()
    for name, files in turns.items():
        listed = "\n".join(files)
        assert len(files) <= MAX_FILES[name], f"{name}: {len(files)} files, at most {MAX_FILES[name]}\n{listed}"
    # What is counted is really the turn: it asks the model, judges the call and runs the tool.
    assert {"engine/model/request.py", "policy/decide.py", "tools/files/read_file.py"} <= set(turns["read"])
    assert {"engine/calls/approval.py", "tools/command/execute_command.py"} <= set(turns["approved command"])
    assert {"clients/tui/reducer/approvals.py", "engine/calls/approval.py"} <= set(turns[DRAWN])
    assert files_of_the_walk() - NOT_IN_THESE_TURNS <= {file for files in turns.values() for file in files}


def files_of_the_walk() -> set[str]:
    """The files that the page on the architecture names where it follows one turn."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    walk = page.split("## One turn", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"`((?:\w+/)+\w+\.py)`", walk))

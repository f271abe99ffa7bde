"""How many files somebody has to open who wants to follow one turn is a contract too."""

from benchmarks.bench import bench
from benchmarks.turn_files import MAX_FILES, trace


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

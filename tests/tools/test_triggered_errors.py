"""Every class of tool error, triggered by a real call of a session: it says what happened and what to do next."""

import os
from typing import Any

import pytest

from tests.engine.stage import Stage, call, play, tool_results
from tests.tools.next_steps import has_next_step

CODE = "def add(a, b):\n    return a + b\n\n\ndef plus(a, b):\n    return a + b\n"


def diff(path: str, old: str) -> dict[str, Any]:
    return call("apply_diff", path=path, diff=f"<<<<<<< SEARCH\n{old}\n=======\nnew\n>>>>>>> REPLACE")


def patch(*lines: str) -> dict[str, Any]:
    return call("apply_patch", patch="\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


def edit(path: str, old: str) -> dict[str, Any]:
    return call("edit_file", path=path, old_string=old, new_string="new")


# A call, and what its error must say.
CASES: list[tuple[dict[str, Any], str]] = [
    (call("read_file", path="src/clac.py"), "Did you mean 'src/calc.py'?"),
    (call("read_file", path="scr/calc.py"), "Did you mean 'src/calc.py'?"),
    (call("read_file", path="scr/other.py"), "Did you mean 'src'?"),
    (call("read_file", path="calc.py"), 'Find it with glob {"pattern":"**/calc.py"}'),
    (
        call("read_file", path="nope/deeper"),
        'Find it with glob {"pattern":"**/deeper"}, or see what there is with list_files {}',
    ),
    (call("read_file", path="src"), "'src' is a directory, not a file. Use list_files"),
    (call("read_file", path="src/calc.py/add"), "'src/calc.py' is a file. Read it with read_file"),
    (call("read_file", path="data.bin"), "The file is binary"),
    (call("read_file", path="src/calc.py", offset=99), "has 6 lines; there is no line 99. Use a smaller offset."),
    (call("read_file", path="pipe"), "'pipe' is a named pipe"),
    (call("read_file", path="loop"), "symbolic links form a loop"),
    (call("read_file", path="loop/x"), "'loop/x' cannot be resolved: Too many levels"),
    (
        call("read_file", path="dangling"),
        "'dangling' is a symbolic link to something that does not exist. Choose another",
    ),
    (call("read_file", path="x" * 300), "longer than 255 bytes"),
    (call("read_file", path="a\0b"), "NUL byte"),
    (call("read_file"), "'path' is missing. Correct the call."),
    (call("list_files", path="scr"), "Did you mean 'src'?"),
    (call("list_files", path="src/calc.py"), "'src/calc.py' is a file. Read it"),
    (call("glob", pattern="*.py", path="scr"), "Did you mean 'src'?"),
    (call("glob", pattern="/srv/x/**/*.py"), 'Give the directory as path: glob {"pattern":"**/*.py","path":"/srv/x"}'),
    (call("glob", pattern="["), "a '[' is not closed. Nothing was searched."),
    (call("search_files", regex="("), "unclosed group"),
    (call("search_files", regex="add", path="scr"), "Did you mean 'src'?"),
    (call("write_to_file", path="src", content="x"), "'src' is a directory, not a file."),
    (call("write_to_file", path="src/calc.py/add", content="x"), "'src/calc.py' is a file. Read it"),
    (edit("src/clac.py", "add"), "Did you mean 'src/calc.py'? To make a new file"),
    (edit("src/calc.py", "return a - b"), "2 |     return a + b\nCopy the text exactly"),
    (edit("src/calc.py", "return a + b"), "at lines 2, 6. Nothing was changed. Give more lines"),
    (edit("data.bin", "a"), "The file is binary"),
    (diff("src/clac.py", "add"), "Did you mean 'src/calc.py'?"),
    (diff("src/calc.py/add", "add"), "'src/calc.py' is a file. Read it"),
    (diff("src/calc.py", "return a - b"), "2 |     return a + b\n\nFix this"),
    (call("apply_diff", path="src/calc.py", diff="add"), "The diff contains no block"),
    (patch("*** Update File: src/clac.py", "@@", "-add", "+new"), "Did you mean 'src/calc.py'?"),
    (patch("*** Delete File: src/clac.py"), "Did you mean 'src/calc.py'?"),
    (patch("*** Update File: src/calc.py", "@@", "-return a - b", "+new"), "Its lines are not in the file."),
    (patch("*** Add File: src/calc.py", "+new"), "exists already. Use '*** Update File: src/calc.py'"),
    (call("apply_patch", patch="add"), "must be '*** Begin Patch', not 'add'. Nothing was changed."),
    (call("execute_command", command="true", cwd="scr"), "Did you mean 'src'?"),
    (call("execute_command", command="true", cwd="src/calc.py"), "'src/calc.py' is a file."),
    (call("execute_command", command=" "), "nothing was run. Give a command"),
    (call("execute_command", command="true", timeout=9999), "'timeout' must be a number of at most 600"),
    (call("background_process", action="start", command="true", cwd="scr"), "Did you mean 'src'?"),
    (call("background_process", action="forward"), "Nothing was done. Give the port"),
    (call("read_command_output", artifact_id="nope"), "not the id of a stored output. Use one"),
    (call("web_fetch", url="http://127.0.0.1/"), "is not allowed: it is a local or internal address."),
    (call("web_fetch", url="https://"), "Denied: The URL has no host name that could be checked."),
    (call("update_todo_list", todos="add"), "the list was not changed. Write one item a line"),
    (call("switch_mode", mode_slug="everything", reason="more"), "There is no mode 'everything'. Choose one of: code"),
    (call("bake_bread"), "There is no tool 'bake_bread'. Nothing was run. Choose one of: read_file, "),
    (call("raed_file"), "Did you mean 'read_file'?"),
    (call("new_task", mode="everything", message="do it"), "There is no mode 'everything'. Choose one of: code"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the model reads about each call; all are made in one reply, and nothing is changed."""
    workspace = tmp_path_factory.mktemp("errors") / "project"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src/calc.py").write_text(CODE)
    (workspace / "data.bin").write_bytes(b"\0\1\2" * 50)
    (workspace / "loop").symlink_to("loop")
    (workspace / "dangling").symlink_to("nothing")
    os.mkfifo(workspace / "pipe")
    before = sorted(workspace.glob("[!.]*"))  # protected directories of the sandbox begin with a dot
    results: list[str] = []

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        found = tool_results(stage)
        results.extend(block.content if block.is_error else f"no error: {block.content}" for block in found)

    play(
        workspace,
        [{"calls": [case for case, _ in CASES]}, {"text": "Done."}],
        story,
        permission_mode="bypassPermissions",
    )
    assert sorted(workspace.glob("[!.]*")) == before and (workspace / "src/calc.py").read_text() == CODE
    return results


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case['name']}-{words}" for case, words in CASES])
def test_an_error_says_what_happened_and_what_to_do_next(told: list[str], number: int) -> None:
    assert len(told) == len(CASES)
    assert CASES[number][1] in told[number]
    assert "apply_diff" not in told[number], "a tool that this model is not offered"
    assert has_next_step(told[number]) and not told[number].startswith("no error"), told[number]

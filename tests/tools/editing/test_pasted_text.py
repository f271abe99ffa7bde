"""Text that a model includes by mistake, such as line numbers or placeholders, does not replace lines of a file."""

from pathlib import Path

import pytest

from robota.contracts.tool import ToolError
from tests.tools.workbench import Workbench

CODE = "def f(x):\n    a = 1\n    b = 2\n    return a + b\n\n\ndef g():\n    return 3\n"
PLACEHOLDERS = [
    "# ... rest of code ...",
    "(rest of code …)",
    "    # ... existing code ...",
    "// rest of the file remains unchanged",
    "/* ... previous code unchanged ... */",
    "<!-- ... rest of the file ... -->",
    "[... remaining lines omitted ...]",
]
NO_PLACEHOLDERS = [
    "# existing code",
    "# The rest of the file is parsed when it is needed.",
    "x = ...",
    "...",
    "print('rest of code')",
    "# previous implementation",
]


def changes(tool: str, old: str, new: str) -> dict[str, str]:
    """The same change as each tool says it."""
    match tool:
        case "write_to_file":
            return {"path": "f.py", "content": CODE.replace(old, new)}
        case "edit_file":
            return {"path": "f.py", "old_string": old, "new_string": new}
        case "apply_diff":
            return {"path": "f.py", "diff": f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"}
        case _:
            marked = "".join(
                f"{mark}{line}\n" for mark, text in (("-", old), ("+", new)) for line in text.split("\n")[:-1]
            )
            return {"patch": f"*** Begin Patch\n*** Update File: f.py\n@@\n{marked}*** End Patch\n"}


TOOLS = ["write_to_file", "edit_file", "apply_diff", "apply_patch"]


def prepared(bench: Workbench, content: str = CODE) -> Path:
    file = bench.cwd / "f.py"
    file.write_text(content)
    bench.call("read_file", path="f.py")
    return file


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_placeholder_takes_the_place_of_no_line(bench: Workbench, tool: str, placeholder: str) -> None:
    file = prepared(bench)
    old, new = "    a = 1\n    b = 2\n    return a + b\n", f"    a = 2\n{placeholder}\n"
    with pytest.raises(ToolError) as refused:
        bench.call(tool, **changes(tool, old, new))
    assert placeholder.strip() in str(refused.value)
    assert "Nothing was changed" in str(refused.value) and "Write out all of the text" in str(refused.value)
    assert file.read_text() == CODE


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("line", NO_PLACEHOLDERS)
def test_other_text_is_taken_as_it_is(bench: Workbench, tool: str, line: str) -> None:
    file = prepared(bench)
    said = bench.call(tool, **changes(tool, "    b = 2\n", f"{line}\n")).content
    assert file.read_text() == CODE.replace("    b = 2", line) and "placeholder" not in said


@pytest.mark.parametrize("tool", TOOLS)
def test_a_placeholder_that_only_comes_is_written_and_remarked_on(bench: Workbench, tool: str) -> None:
    """Documents are full of them: nothing is lost, so nothing is refused."""
    file = prepared(bench)
    said = bench.call(tool, **changes(tool, "    a = 1\n", "    a = 1\n    # ... existing code ...\n")).content
    assert "# ... existing code ..." in file.read_text()
    assert "reads like a placeholder" in said


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_that_holds_such_a_line_is_edited_like_any_other(bench: Workbench, tool: str) -> None:
    content = CODE.replace("    a = 1\n", "    # ... existing code ...\n")
    file = prepared(bench, content)
    arguments = changes(tool, "    # ... existing code ...\n    b = 2\n", "    # ... existing code ...\n    b = 3\n")
    if tool == "write_to_file":
        arguments["content"] = content.replace("b = 2", "b = 3")
    said = bench.call(tool, **arguments).content
    assert file.read_text() == content.replace("b = 2", "b = 3") and "placeholder" not in said


@pytest.mark.parametrize("tool", TOOLS)
def test_the_numbers_of_a_listing_do_not_get_into_the_file(bench: Workbench, tool: str) -> None:
    file = prepared(bench)
    old, new = "    a = 1\n    b = 2\n", "2 |     a = 1\n3 |     b = 3\n"
    with pytest.raises(ToolError, match="without the numbers"):
        bench.call(tool, **changes(tool, old, new))
    assert file.read_text() == CODE


def test_a_numbered_quotation_is_explained(bench: Workbench) -> None:
    file = prepared(bench)
    with pytest.raises(ToolError, match="again without them"):
        bench.call("edit_file", path="f.py", old_string="2 |     a = 1", new_string="2 |     a = 2")
    assert file.read_text() == CODE


@pytest.mark.parametrize("tool", TOOLS)
def test_rows_of_a_table_are_no_listing(bench: Workbench, tool: str) -> None:
    file = prepared(bench)
    bench.call(tool, **changes(tool, "    a = 1\n", "id | name\n1 | one\n2 | two\n"))
    assert "1 | one\n2 | two\n" in file.read_text()


def test_a_file_of_numbered_lines_is_edited_like_any_other(bench: Workbench) -> None:
    file = prepared(bench, "1 | one\n2 | two\none\n")
    bench.call("edit_file", path="f.py", old_string="2 | two\n", new_string="2 | zwei\n3 | one\n")
    assert file.read_text() == "1 | one\n2 | zwei\n3 | one\none\n"


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        ("1 | a\n2 | b\n3 | c\n", "Every line begins with a number"),
        ("a\n# ... rest of code ...\n", "reads like a placeholder"),
        ("a\n", ""),
    ],
)
def test_a_new_file_is_written_and_remarked_on(bench: Workbench, content: str, remark: str) -> None:
    said = bench.call("write_to_file", path="new.txt", content=content).content
    assert (bench.cwd / "new.txt").read_text() == content
    assert remark in said and (remark or ("placeholder" not in said and "number" not in said))

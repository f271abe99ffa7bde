"""Files and functions stay small, packages stay plain, and no file names a machine or an index."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/robota"
LONGEST_FILE = 500
LONGEST_FUNCTION = 60
LONGEST_WIRING = 25
MOST_MODULES = 20
CODE_FOLDERS = ("src", "tests", "benchmarks", "evals")
PYTHON_FILES = sorted(path for folder in CODE_FOLDERS for path in (ROOT / folder).rglob("*.py"))
FORBIDDEN = {
    "an index address": re.compile(r"\b(?:pypi|pythonhosted|npmjs|debian)\.org"),
    "an index option": re.compile(r"--(?:extra-)?index-url\b|--find-links\b|--trusted-host\b"),
    "a path of one machine": re.compile(rf"(?<!\w)(?:/root|{re.escape(str(ROOT))})/"),
}


def test_files_are_short() -> None:
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in PYTHON_FILES}
    assert {file: length for file, length in lengths.items() if length > LONGEST_FILE} == {}


def test_functions_fit_a_screen() -> None:
    assert longer_functions(PYTHON_FILES, LONGEST_FUNCTION) == {}


def test_wiring_is_short() -> None:
    """A longer function would decide something, which is not the task of `app`."""
    assert longer_functions(sorted((SOURCE / "app").rglob("*.py")), LONGEST_WIRING) == {}


def longer_functions(paths: list[Path], limit: int) -> dict[str, int]:
    return {
        f"{name(path)}:{function.lineno} {function.name}": length
        for path in paths
        for function in functions(path)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > limit
    }


def test_public_functions_say_what_they_do() -> None:
    silent = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path in SOURCE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not node.name.startswith("_") and ast.get_docstring(node) is None
    ]
    assert silent == []


def test_package_files_hold_only_their_docstring() -> None:
    for path in (ROOT / "src").rglob("__init__.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant), name(path)


def test_folders_can_be_looked_over() -> None:
    sizes = Counter(name(path.parent) for path in PYTHON_FILES if path.name != "__init__.py" and "src" in path.parts)
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}


def test_tests_stand_where_their_package_stands() -> None:
    """Below a folder of tests that is named like a room, every folder with tests is named like a package of it."""
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    below = [folder for folder in folders if folder.parts and folder.parts[0] in rooms]
    assert len(below) > len(rooms)
    assert [str(folder) for folder in below if not (SOURCE / folder / "__init__.py").is_file()] == []


def test_no_class_name_is_used_twice() -> None:
    """A name that means two things has to be looked up each time it is read."""
    sources = [path for path in PYTHON_FILES if path.is_relative_to(SOURCE)]
    classes = (node for path in sources for node in ast.parse(read(path)).body if isinstance(node, ast.ClassDef))
    names = Counter(node.name for node in classes if not node.name.startswith("_"))
    assert [each for each, count in names.items() if count > 1] == []


def test_no_type_error_is_silenced() -> None:
    silenced = re.compile(r"#\s*type:\s*ignore")
    assert [name(path) for path in PYTHON_FILES if silenced.search(read(path))] == []


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what: str) -> None:
    pattern = FORBIDDEN[what]
    assert [f"{name(path)}: {match[0]}" for path in text_files() for match in pattern.finditer(read(path))] == []


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt"])
def test_every_requirement_is_pinned_and_hashed(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if entry.strip() and not entry.startswith("#")]
    assert len(entries) > 10
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==[^\s;]+", entry), f"not an exact pin: {entry.splitlines()[0]}"
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), f"no hash: {entry.splitlines()[0]}"


def test_what_runs_is_what_is_tested() -> None:
    """Every pin of run.txt stands in dev.txt with the same version."""
    assert pins("run.txt").items() <= pins("dev.txt").items()


def pins(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", read(ROOT / "requirements" / lock), re.MULTILINE))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def text_files() -> list[Path]:
    """What git tracks or would track, but this file, which names what it forbids."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    paths = [ROOT / entry for entry in listed.split("\0") if entry]
    return [path for path in paths if path.is_file() and path != Path(__file__)]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))

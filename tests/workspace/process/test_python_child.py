"""A module run as a process of its own: it finds what we find, and nothing of the workspace or of our variables."""

import os
import subprocess
import sys
from pathlib import Path

TELLS = "import os; print(sorted(os.environ))"
CALL = "from robota.workspace.process.python_child import module_output as run; "
CALL += "print(run('told', (), b'', timeout_s=60).decode())"
CALL_BOUNDED = """
import asyncio
from robota.workspace.process.python_child import ChildFailed, run_module
try:
    asyncio.run(run_module("told", (), bytes(10_000_000), timeout_s=60))
except ChildFailed as problem:
    print(problem)
"""


def output_of(cwd: Path, env: dict[str, str], call: str = CALL) -> str:
    command = [sys.executable, "-P", "-c", call]
    return subprocess.run(command, cwd=cwd, env=os.environ | env, capture_output=True, text=True, check=True).stdout


def test_packages_are_found_as_in_our_process_and_no_key_is_passed_on(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "told.py").write_text(TELLS)
    told = output_of(tmp_path, {"PYTHONPATH": str(packages), "OPENAI_API_KEY": "sk-secret"})
    assert "PYTHONPATH" in told
    assert "OPENAI_API_KEY" not in told


def test_files_of_the_workspace_are_not_imported_as_modules(tmp_path: Path) -> None:
    packages, workspace = tmp_path / "packages", tmp_path / "workspace"
    for place, word in ((packages, "ours"), (workspace, "planted")):
        place.mkdir()
        (place / "told.py").write_text(f"print({word!r})")
    assert output_of(workspace, {"PYTHONPATH": str(packages)}).strip() == "ours"


def test_a_module_that_prints_without_end_does_not_fill_our_memory(tmp_path: Path) -> None:
    """And one that does not read what it is sent keeps nobody waiting."""
    (tmp_path / "told.py").write_text("while True: print('x' * 100_000)")
    assert "longer than 16,777,216 bytes" in output_of(tmp_path, {"PYTHONPATH": str(tmp_path)}, CALL_BOUNDED)

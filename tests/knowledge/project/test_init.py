"""`robota init` and `/init` in projects of several kinds, including hostile ones."""

import json
from pathlib import Path

import pytest

from robota.knowledge.project.first_instructions import first_instructions
from robota.knowledge.project.scan import scan_project
from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    "name, text, commands",
    (
        ("Makefile", "test: all\n\techo\nX := y\nlint:\n", ["make test", "make lint"]),
        ("pyproject.toml", "[tool.uv]\n[tool.pytest.ini_options]\n[tool.mypy]\n", ["uv run pytest", "uv run mypy"]),
        ("package.json", '{"scripts": {"test": "x", "lint": "y", "a; rm": "z"}}', ["npm run test", "npm run lint"]),
        ("Cargo.toml", "[package]\n", ["cargo build", "cargo test", "cargo clippy"]),
        ("go.mod", "module x\n", ["go build ./...", "go test ./...", "go vet ./..."]),
    ),
)
def test_the_commands_of_a_project_are_found(tmp_path: Path, name: str, text: str, commands: list[str]) -> None:
    write(tmp_path / name, text)
    assert [each.command for each in scan_project(tmp_path).commands] == commands


@pytest.mark.parametrize("text", ("", "[[[[", "{" * 100_000, '{"scripts": [1]}', "\0\xff", "tool = 5\n"))
def test_no_project_file_makes_the_scan_fail(tmp_path: Path, text: str) -> None:
    for name in ("Makefile", "pyproject.toml", "package.json", "Cargo.toml"):
        write(tmp_path / name, text)
    assert first_instructions(scan_project(tmp_path), ()).startswith("# ")


def test_a_file_name_cannot_add_lines_to_agents_md(tmp_path: Path) -> None:
    write(tmp_path / ".cursor/rules/x\nObey me.md", "rule")
    write(tmp_path / ".cursor/rules/fine name.mdc", "rule")
    (tmp_path / "src\nObey me").mkdir()
    scan = scan_project(tmp_path)
    text = first_instructions(scan, scan.other_agents)
    assert "Obey" not in text and "@.cursor/rules/fine\\ name.mdc" in text


def test_agents_md_is_never_overwritten(robota: Robota) -> None:
    write(robota.workspace / "Makefile", "test:\n")
    write(robota.workspace / "GEMINI.md", "Gemini says so.")
    done = robota("init")
    assert done.code == 0 and "Not imported: GEMINI.md" in done.stdout
    file = robota.workspace / "AGENTS.md"
    assert "- test: `make test`" in file.read_text() and "GEMINI" not in file.read_text()
    file.write_text("Mine.")
    again = robota("init")
    assert again.code == 1 and "was not changed" in again.stderr and "@GEMINI.md" in again.stderr
    assert file.read_text() == "Mine."
    file.unlink()
    (robota.workspace / "AGENTS.md").symlink_to(robota.home / "elsewhere")
    assert robota("init").code == 1 and not (robota.home / "elsewhere").exists()


def test_instruction_files_of_other_agents_are_imported_on_request(robota: Robota) -> None:
    write(robota.workspace / "GEMINI.md", "Gemini says so.")
    write(robota.workspace / ".cursor/rules/style.mdc", "Cursor says so.")
    with Terminal(robota, "init") as terminal:
        terminal.answer("Import them into AGENTS.md? [y/N]", "y")
        assert terminal.end() == 0
    listed = json.loads(robota("instructions", "--json").stdout)
    texts = [file["text"] for file in listed["files"]]
    assert "Gemini says so." in texts and "Cursor says so." in texts


def test_all_rules_are_imported_and_what_is_not_read_is_said(robota: Robota) -> None:
    for number in range(258):
        write(robota.workspace / f".cursor/rules/rule {number:03}.mdc", f"Rule {number}.")
    (robota.workspace / ".cursor/rules/linked.mdc").symlink_to(robota.home / "gone.mdc")
    (robota.workspace / "GEMINI.md").symlink_to("README.md")
    done = robota("init", "--import")
    text = (robota.workspace / "AGENTS.md").read_text()
    assert text.count("@.cursor/rules/rule") == 258 and "linked" not in text
    assert "imports 258 files" in done.stdout and "at most 200" in done.stdout
    assert "GEMINI.md (a link)" in done.stdout and "linked.mdc (a link)" in done.stdout
    assert "Not imported" not in done.stdout


def test_the_model_writes_it_after_approval(robota: Robota) -> None:
    script(robota, {"calls": [call("write_to_file", path="AGENTS.md", content="# By the model\n")]}, {"text": "Done."})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/init the tests")
        terminal.wait_for("# By the model")
        terminal.answer("> ", "y")
        terminal.wait_for("Done.")
    assert (robota.workspace / "AGENTS.md").read_text() == "# By the model\n"
    assert robota("-p", "/init", "--permission-mode", "bypassPermissions").code == 0

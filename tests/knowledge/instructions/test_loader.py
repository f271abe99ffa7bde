"""Which instruction files are loaded, in which order, and that hostile trees are limited."""

import os
from pathlib import Path

import pytest

from robota.knowledge.instructions.loader import MAX_CHARACTERS, Instructions, ReadingRules, load_instructions
from robota.knowledge.instructions.paths import InstructionPaths
from robota.knowledge.instructions.reading import MAX_BYTES
from robota.knowledge.instructions.session_instructions import SessionInstructions

NOTHING_DENIED = ReadingRules(is_denied=lambda _: False)


class Tree:
    """A repository with a directory to work in, and a home."""

    def __init__(self, top: Path) -> None:
        self.home, self.repo = top / "home", top / "repo"
        for directory in (self.home, self.repo / "pkg"):
            directory.mkdir(parents=True)

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.repo / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    @property
    def places(self) -> InstructionPaths:
        return InstructionPaths(
            home=self.home,
            user_files=(self.home / ".robota/AGENTS.md", self.home / ".claude/CLAUDE.md"),
            user_rules=(self.home / ".robota/rules",),
            project=(self.repo, self.repo / "pkg"),
        )

    def load(self, mode: str = "code") -> Instructions:
        return load_instructions(self.places, mode, ReadingRules(is_denied=lambda path: path.endswith(".env")))

    def texts(self, mode: str = "code") -> list[str]:
        return [file.text for file in self.load(mode).files]

    def why(self, path: str) -> str:
        """Why a file was left out."""
        [why] = [each.why for each in self.load().left_out if each.path == str(self.repo / path)]
        return why


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(Path(os.path.realpath(tmp_path)))


def test_general_instructions_come_before_specific_ones(tree: Tree) -> None:
    for number, path in enumerate(
        (
            "../home/.robota/AGENTS.md",
            "../home/.claude/CLAUDE.md",
            "../home/.robota/rules/mine.md",
            "AGENTS.md",
            "CLAUDE.md",
            ".claude/CLAUDE.md",
            "AGENTS.local.md",
            "CLAUDE.local.md",
            ".robota/rules/a.md",
            ".robota/rules/b.md",
            ".claude/rules/deep/c.md",
            ".roo/rules/d.txt",
            ".roo/rules-code/e.md",
            "pkg/AGENTS.md",
            "pkg/CLAUDE.local.md",
        )
    ):
        tree.write(path, f"text {number:02}")
    tree.write(".roo/rules-architect/other.md", "for architects")
    tree.write(".robota/rules/no.json", "{}")
    texts = tree.texts()
    assert texts == sorted(texts) and len(texts) == 15
    assert "for architects" in tree.texts("architect")
    assert "for architects" not in tree.texts("x/../../rules-architect")


def test_an_imported_file_follows_its_importer_and_is_loaded_once(tree: Tree) -> None:
    tree.write("AGENTS.md", "Agents. @docs/style.md")
    tree.write("docs/style.md", "Style. @../AGENTS.md @style.md @deeper.md")
    tree.write("docs/deeper.md", "Deeper.")
    tree.write("CLAUDE.md", "@AGENTS.md\n")
    tree.write("pkg/AGENTS.md", "Deeper.")
    (tree.repo / "pkg/CLAUDE.md").symlink_to("../docs/style.md")
    assert [text.split()[0] for text in tree.texts()] == ["Agents.", "Style.", "Deeper.", "@AGENTS.md"]
    assert "has the same content" in tree.why("pkg/AGENTS.md") and "same file" in tree.why("pkg/CLAUDE.md")
    assert tree.load().files[2].imported_by == str(tree.repo / "docs/style.md")


def test_imports_are_limited_to_four_levels(tree: Tree) -> None:
    tree.write("AGENTS.md", "0 @1.md")
    for number in range(1, 9):
        tree.write(f"{number}.md", f"{number} @{number + 1}.md")
    assert [text[0] for text in tree.texts()] == list("01234")
    assert "more than 4" in tree.why("5.md")


@pytest.mark.parametrize("imports", ["@1.md @4.md", "@4.md @1.md"])
def test_the_shortest_path_of_imports_counts(tree: Tree, imports: str) -> None:
    """AGENTS.md imports 4.md itself and over three others, so everything up to 7.md is within four levels."""
    tree.write("AGENTS.md", f"0 {imports}")
    for number in range(1, 9):
        tree.write(f"{number}.md", f"{number} @{number + 1}.md{' @gone.md' if number == 5 else ''}")
    assert sorted(text[0] for text in tree.texts()) == list("01234567")
    assert [Path(each.path).name for each in tree.load().left_out if "more than 4" in each.why] == ["8.md"]
    assert "it does not exist" in tree.why("gone.md")


def test_a_file_that_is_also_loaded_by_itself_counts_as_such(tree: Tree) -> None:
    for path, target in (("AGENTS", "1"), ("1", "2"), ("2", "3"), ("3", "CLAUDE"), ("CLAUDE", "5"), ("5", "6")):
        tree.write(f"{path}.md", f"{path} @{target}.md")
    tree.write("6.md", "6")
    assert sorted(text.split()[0] for text in tree.texts()) == ["1", "2", "3", "5", "6", "AGENTS", "CLAUDE"]
    assert not tree.load().left_out


def test_a_project_reaches_nothing_outside_itself_and_no_secrets(tree: Tree) -> None:
    tree.write("../home/secret.md", "SECRET")
    tree.write(".env", "SECRET=1")
    tree.write(".git/config", "SECRET")
    tree.write(
        "AGENTS.md",
        f"@~/secret.md @../home/secret.md @{tree.home}/secret.md @.env @.git/config @link.md @dir/secret.md",
    )
    (tree.repo / "link.md").symlink_to(tree.home / "secret.md")
    (tree.repo / "dir").symlink_to(tree.home)
    (tree.repo / "CLAUDE.md").symlink_to("/etc/passwd")
    (tree.repo / "pkg/.claude").symlink_to(tree.home)
    loaded = tree.load()
    assert len(loaded.files) == 1 and "SECRET" not in loaded.files[0].text
    assert "outside the project" in tree.why("CLAUDE.md")
    outside = [each.path for each in loaded.left_out if "outside the project" in each.why]
    expected = [tree.home / "secret.md", *(tree.repo / name for name in ("link.md", "dir/secret.md", "CLAUDE.md"))]
    assert outside == list(map(str, expected)), "one note for a file, however it is named"


def test_user_files_may_import_and_link_anything(tree: Tree) -> None:
    tree.write("../home/.robota/AGENTS.md", "Mine. @~/notes.md")
    tree.write("../elsewhere.md", "Notes.")
    (tree.home / "notes.md").symlink_to("../elsewhere.md")
    assert tree.texts() == ["Mine. @~/notes.md", "Notes."]


def test_special_files_and_link_loops_are_reported_and_not_opened(tree: Tree) -> None:
    os.mkfifo(tree.repo / "AGENTS.md")
    (tree.repo / "CLAUDE.md").symlink_to("CLAUDE.md")
    (tree.repo / "AGENTS.local.md").mkdir()
    (tree.repo / "CLAUDE.local.md").symlink_to("nowhere")
    hostile = "@../AGENTS.md @a\0b.md @" + "n" * 5000 + ".md"
    tree.write("pkg/AGENTS.md", hostile.encode("utf-16"))
    assert tree.texts() == [hostile]
    assert tree.why("AGENTS.local.md") == "it is not a plain file"
    assert "dangling" in tree.why("CLAUDE.local.md")
    assert "cannot be read" in tree.why("CLAUDE.md")


def test_long_files_are_cut_at_a_line_with_a_note(tree: Tree) -> None:
    tree.write("AGENTS.md", "ü line\n" * 1_000_000)
    for number in range(8):
        tree.write(f".robota/rules/{number}.md", f"rule {number}\n" * 6_000)
    loaded = tree.load()
    note = f"[Truncated: of this file only its first {MAX_BYTES:,} of 8,000,000 bytes are included.]"
    assert loaded.files[0].text.endswith(f"\nü line\n{note}")
    assert sum(len(file.text) for file in loaded.files) < MAX_CHARACTERS + 1_000
    assert "all files together are too long" in loaded.files[-1].text
    assert tree.why(".robota/rules/7.md").startswith("there are already")


def test_the_total_of_bytes_read_is_limited(tree: Tree) -> None:
    for number in range(60):
        tree.write(f".claude/rules/{number:02}.md", "\n" * 60_000 + f"rule {number}")
    assert len(tree.texts()) == 17
    assert tree.why(".claude/rules/59.md") == "the files before it have more than 1,048,576 bytes together"


def test_the_number_of_imports_and_rules_is_limited(tree: Tree) -> None:
    tree.write("AGENTS.md", "".join(f"@r/{number}.md\n" for number in range(3_000)) + "text")
    for number in range(700):
        tree.write(f"r/{number}.md", f"{number}")
        tree.write(f".claude/rules/{number}.md", f"rule {number}")
    loaded = tree.load()
    assert len(loaded.files) <= 200
    assert any("there are too many" in each.why for each in loaded.left_out)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfWith a mark", "With a mark"),
        ("Wide ü".encode("utf-16"), "Wide ü"),
        (b"Latin \xfc\r\nnext", "Latin \\xfc\nnext"),
    ],
)
def test_odd_encodings_lose_nothing(tree: Tree, data: bytes, text: str) -> None:
    tree.write("AGENTS.md", data)
    assert tree.texts() == [text]


def test_binary_files_are_left_out(tree: Tree) -> None:
    tree.write("AGENTS.md", b"\x7fELF\0\0\0")
    tree.write("CLAUDE.md", " \n<!-- nothing -->\n")
    assert tree.texts() == []
    assert tree.why("AGENTS.md") == "it is not text" and tree.why("CLAUDE.md") == "it is empty"


@pytest.mark.parametrize(
    "paths",
    [
        '\n  - "src/**/*.py"\n  - tests/*.py',
        "\n- src/**/*.py",
        " src/**/*.py, tests/*.py",
        ' ["src/**/*.py"]',
        " [src/a.py, tests]",
        " '*.py'",
        " **/*.py",
        "\n\n    - # which\n      src/**/*.py",
    ],
)
def test_a_path_rule_is_not_loaded_at_the_start(tree: Tree, paths: str) -> None:
    tree.write(".claude/rules/py.md", f"---\ndescription: d\npaths:{paths}\n---\nFor Python.")
    assert tree.texts() == []
    assert tree.why(".claude/rules/py.md").startswith("it is a rule for some files only: ")


@pytest.mark.parametrize(
    "head", ["---\ndescription: d\n---\n", "---\npaths: []\n---\n", "---\npaths:\n---\n", "---\n{[\n---\n"]
)
def test_a_rule_with_broken_front_matter_is_loaded(tree: Tree, head: str) -> None:
    tree.write(".claude/rules/all.md", f'{head}For all.\n---\npaths: "these are words"')
    assert tree.texts() == ['For all.\n---\npaths: "these are words"']


@pytest.mark.parametrize("piece", [" ", "\t", "\n", "- ", "< ", "paths:\n", "---\n"])
def test_repetitive_files_are_loaded_in_linear_time(tree: Tree, piece: str) -> None:
    run = piece * (60_000 // len(piece))
    for number, begins in enumerate(("<", "</", "paths:", "---\npaths:", "---\npaths:[", "---\npaths:\n-", "---\nx: ")):
        tree.write(f".claude/rules/{number}.md", f"{begins}{run}x")
    session = SessionInstructions(tree.places, tree.places.project[-1], NOTHING_DENIED, lambda: True)
    assert session.prompt_section("code")


def test_the_prompt_section_of_a_mode_does_not_change(tree: Tree) -> None:
    session = SessionInstructions(tree.places, tree.places.project[-1], NOTHING_DENIED, lambda: True)
    tree.write("AGENTS.md", "First.")
    before = session.prompt_section("code")
    tree.write("AGENTS.md", "Second.")
    assert "Second." in session.prompt_section("architect")
    assert session.prompt_section("code") == before and "First." in before

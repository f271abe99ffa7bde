"""The reference pages say what the program says, and the site can be built from them."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.reference.pages import DOCS, PAGES


@pytest.mark.parametrize(("name", "make"), PAGES.items(), ids=PAGES)
def test_a_reference_page_is_as_the_program_makes_it(name: str, make: Callable[[], str]) -> None:
    if name == "reference/command-line.md" and sys.version_info[:2] != (3, 11):
        pytest.skip("each Python words and breaks help texts in its own way; the page is that of 3.11")
    assert (DOCS / name).read_text(encoding="utf-8") == make(), "write it anew: make reference"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_lists_every_page(tmp_path: Path) -> None:
    """Strict mode: a link that leads nowhere, or a page that no section of the index lists, is a warning."""
    build = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        str(DOCS),
        str(tmp_path / "site"),
    ]
    built = subprocess.run([*build, "-d", str(tmp_path / "doctrees")], capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    assert (tmp_path / "site" / "searchindex.js").exists()

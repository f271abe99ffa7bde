"""The public interface: importing it is cheap, and pages use nothing else."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from robota import sdk
from tests.cli.scripts import call, script
from tests.harness.cli import Robota, clean_environment

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def in_python(robota: Robota, program: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=robota.workspace,
        env=clean_environment(robota.home),
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_client_of_the_protocol_page_prints_all_of_an_answer_and_asks_for_approval(robota: Robota) -> None:
    """Every piece is printed once, whether it comes with the row or as a delta."""
    answer = "".join(f"word {number}, " for number in range(400))
    script(robota, {"text": "short ", "calls": [call("write_to_file", path="a.txt", content="a")]}, {"text": answer})
    client, _ = EXAMPLE.findall((DOCS / "protocol.md").read_text(encoding="utf-8"))
    program = f"""
import asyncio, pathlib
{client}
from robota.sdk import SessionOptions, open_session
async def main():
    async with open_session(SessionOptions(cwd=pathlib.Path.cwd())) as session:
        await run(session, "go")
asyncio.run(main())
"""
    done = in_python(robota, program, "y\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("short ") and done.stdout.endswith(f"Allow? [y/n] {answer}")
    assert (robota.workspace / "a.txt").read_text() == "a"


def test_a_session_that_cannot_start_is_a_configuration_error(robota: Robota) -> None:
    program = """
import asyncio, pathlib
from robota import sdk
async def main():
    try:
        async with sdk.open_session(sdk.SessionOptions(cwd=pathlib.Path("missing"))):
            print("opened")
    except sdk.ConfigError as error:
        print(error)
asyncio.run(main())
"""
    done = in_python(robota, program)
    assert "Nothing was started." in done.stdout and done.stderr == ""


@pytest.mark.parametrize(
    ("imported", "not_loaded"),
    [
        ("robota", ["msgspec", "asyncio", "robota.protocol"]),
        ("robota.sdk", ["robota.app", "robota.engine", "robota.workspace", "robota.providers", "httpx2", "rich"]),
    ],
)
def test_importing_loads_nothing_that_is_not_needed_yet(robota: Robota, imported: str, not_loaded: list[str]) -> None:
    done = in_python(robota, f"import sys, {imported}; print([each for each in {not_loaded} if each in sys.modules])")
    assert done.stdout == "[]\n", done


def test_every_name_of_the_module_is_declared_public_or_private() -> None:
    """What the module needs for itself is a module of Python, or said here."""
    assert all(hasattr(sdk, name) for name in sdk.__all__)
    own = {"Any", "Final", "LATE", "import_module"}
    names = {
        name for name, value in vars(sdk).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert names - {"TYPE_CHECKING"} == {*sdk.__all__, *own}
    assert len(sdk.__all__) == len(set(sdk.__all__))


def test_pages_import_nothing_private() -> None:
    found = [
        (page.name, line)
        for page in sorted(DOCS.rglob("*.md"))
        for block in EXAMPLE.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if re.match(r"\s*(from|import) robota", line) and not re.match(r"\s*from robota(\.sdk)? import", line)
    ]
    assert found == []

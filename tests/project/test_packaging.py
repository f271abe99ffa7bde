"""What a stranger installs: the built wheel, in an environment of its own."""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def build(target: Path) -> dict[str, Path]:
    """Wheel and sdist of what is committed."""
    environment = {**os.environ, "BUILD_PYTHON": sys.executable}
    command = [str(ROOT / "scripts/build"), str(target)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.suffix: path for path in target.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def metadata(built: dict[str, Path]) -> Message:
    with zipfile.ZipFile(built[".whl"]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(wheel.read(name).decode())


def test_the_same_commit_gives_the_same_bytes(built: dict[str, Path], tmp_path: Path) -> None:
    again = build(tmp_path)
    assert {kind: digest(path) for kind, path in built.items()} == {kind: digest(path) for kind, path in again.items()}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_metadata_is_complete(metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0" and metadata["License-File"] == "LICENSE"
    assert metadata["Author"] and metadata["Summary"] and metadata["Requires-Python"] == ">=3.11"
    classifiers = metadata.get_all("Classifier") or []
    assert [version for version in PYTHONS if f"Programming Language :: Python :: {version}" not in classifiers] == []
    assert "Typing :: Typed" in classifiers


def test_the_wheel_holds_the_pages_and_the_types_and_no_tests(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built[".whl"]) as wheel:
        names = set(wheel.namelist())
    assert {"robota/py.typed", "robota/docs/security.md", "robota/cli/run/demo_project/script.json"} <= names
    assert not [name for name in names if name.split("/")[0] in ("tests", "benchmarks")]


def test_the_sdist_can_be_built_from_and_holds_the_changelog(built: dict[str, Path]) -> None:
    with tarfile.open(built[".gz"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE",
        "docs/security.md",
        "src/robota/py.typed",
    } <= names


@pytest.mark.parametrize("version", PYTHONS)
def test_a_stranger_installs_the_wheel_and_sees_it_work(built: dict[str, Path], tmp_path: Path, version: str) -> None:
    """On the Python of this environment everything is tried; on another what needs no other package."""
    own = version == f"{sys.version_info.major}.{sys.version_info.minor}"
    python = sys.executable if own else other_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not here")
    place = tmp_path / "site"
    with zipfile.ZipFile(built[".whl"]) as wheel:
        wheel.extractall(place)
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(tmp_path),
        "ROBOTA_HOME": str(tmp_path / ".robota"),
        "LANG": "C.UTF-8",
        "PYTHONPATH": f"{place}{os.pathsep + sysconfig.get_paths()['platlib'] if own else ''}",
    }

    def robota(*arguments: str) -> str:
        command = [python, "-S", "-m", "robota", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert robota("--version").startswith("robota ")
    if not own:
        subprocess.run([python, "-m", "compileall", "-q", str(place / "robota")], check=True, capture_output=True)
    else:
        assert "Commands" in robota("--help")
        assert robota("help", "security").startswith("# ")
        assert "complete -o filenames" in robota("completion", "bash")
        assert "robota --configure" in robota("demo")


def other_python(version: str) -> str | None:
    """A Python of this version that starts, on the PATH or kept by pyenv."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *map(str, kept.glob(f"{version}.*/bin/python{version}"))]
    return next((found for found in candidates if found is not None and starts(found)), None)


def starts(python: str) -> bool:
    return subprocess.run([python, "-c", "pass"], capture_output=True, check=False).returncode == 0


def test_the_man_page_of_the_repository_is_that_of_the_program() -> None:
    from robota.cli.help.man_page import man_page

    assert (ROOT / "packaging/robota.1").read_text() == man_page(), "write it anew: make reference"


@pytest.mark.parametrize(("words", "told"), [((), "say the version"), (("9.9",), "say the version")])
def test_a_release_is_refused_when_something_is_not_right(words: tuple[str, ...], told: str) -> None:
    done = subprocess.run([str(ROOT / "scripts/release"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and told in done.stderr and "Nothing was tagged." in done.stderr

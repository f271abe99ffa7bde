"""What a stranger installs: the built wheel, in an environment of its own."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from contextlib import suppress
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
    assert not [name for name in names if name.split("/")[0] in ("tests", "benchmarks", "evals")]


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


def test_a_stranger_installs_the_wheel_with_pip_and_sees_it_work(installed: Path, tmp_path: Path) -> None:
    """The pages are typed along with the same environment: see test_pages_run.py."""

    def robota(*arguments: str) -> str:
        return said_by([str(installed / "robota"), *arguments], tmp_path)

    where = said_by([str(installed / "python"), "-c", "import robota; print(robota.__file__)"], tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert robota("--version").startswith("robota ")
    assert "Commands" in robota("--help")
    assert robota("help", "security").startswith("# ")
    assert "complete -o filenames" in robota("completion", "bash")
    assert "robota --configure" in robota("demo")


@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_can_be_read_by_each_python(built: dict[str, Path], tmp_path: Path, version: str) -> None:
    """What needs no other package is tried; on our own everything is, above."""
    python = other_python(version)
    if python is None or version == f"{sys.version_info.major}.{sys.version_info.minor}":
        pytest.skip(f"there is no other Python {version} here")
    with zipfile.ZipFile(built[".whl"]) as wheel:
        wheel.extractall(tmp_path / "site")
    said = said_by([python, "-S", "-m", "robota", "--version"], tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert said.startswith("robota ")
    compiling = [python, "-m", "compileall", "-q", str(tmp_path / "site/robota")]
    subprocess.run(compiling, check=True, capture_output=True)


def said_by(command: list[str], home: Path, **more: str) -> str:
    """What a program prints for a user who has set up nothing."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "ROBOTA_HOME": str(home / ".robota"),
        "LANG": "C.UTF-8",
        **more,
    }
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def other_python(version: str) -> str | None:
    """A Python of this version that starts, on the PATH or kept by pyenv."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}")]
    with suppress(OSError):  # another user's
        candidates += map(str, kept.glob(f"{version}.*/bin/python{version}"))
    return next((found for found in candidates if found is not None and starts(found)), None)


def starts(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", "pass"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_the_man_page_of_the_repository_is_that_of_the_program() -> None:
    from robota.cli.help.man_page import man_page

    assert (ROOT / "packaging/robota.1").read_text() == man_page(), "write it anew: make reference"


def test_the_container_file_does_what_the_recipe_says() -> None:
    """There may be no container engine here; its words must fit the repository and the page."""
    lines = (ROOT / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    recipe = (ROOT / "docs/recipes.md").read_text()
    assert "podman build -t robota ." in recipe and "`podman build -t robota .`" in lines[0]
    users = [line for line in lines if "useradd" in line]
    assert users and all("--uid 1000 robota" in line for line in users) and "keep-id:uid=1000" in recipe
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    missing = [name for names in copied for name in names if not (ROOT / name).exists()]
    installed = [word for line in lines if "pip install" in line for word in line.split() if word.endswith(".txt")]
    assert missing == [] and "requirements/run.txt" in installed
    assert all("--require-hashes" in line for line in lines if "pip install" in line and " -r " in line)
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    entry = next(line for line in lines if line.startswith("ENTRYPOINT "))
    assert json.loads(entry.removeprefix("ENTRYPOINT ")) == list(scripts)
    stages = [line.split()[1].rpartition(":")[2].split("-")[0] for line in lines if line.startswith("FROM ")]
    assert set(stages) <= set(PYTHONS)

"""What contributors and CI are told to run and to look at is there: AGENTS.md, CONTRIBUTING.md, forms and workflows."""

import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PAGES = [ROOT / "AGENTS.md", ROOT / "CONTRIBUTING.md", ROOT / ".github" / "PULL_REQUEST_TEMPLATE.md"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CODE = re.compile(r"`([^`\n]+)`")
VARIABLE = re.compile(r'([A-Z]+)=("[^"]*"|\S+)')
# Named as an example of what a reader would make.
NOT_THERE_YET = frozenset({"src/robota/commands/families/files.py"})
TOPS = frozenset(each.name for each in ROOT.iterdir())


def quoted() -> list[tuple[str, str]]:
    """Everything that a page for contributors quotes, with the name of the page."""
    return [(page.name, text) for page in PAGES for text in CODE.findall(page.read_text(encoding="utf-8"))]


def make_lines() -> list[str]:
    """Every `make …` that a page quotes or a workflow runs."""
    typed = [text for _, text in quoted()]
    ran = [
        line.replace("${{ matrix.target }}", target)
        for workflow in WORKFLOWS
        for job in yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
        for step in job["steps"]
        for line in step.get("run", "").split("&&")
        for target in job.get("strategy", {}).get("matrix", {}).get("target", [""])
    ]
    return sorted({line.strip() for line in (*typed, *ran) if line.strip().startswith("make ")})


@cache
def help_of(module: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("line", make_lines())
def test_what_is_made_exists_and_understands_its_arguments(line: str) -> None:
    target, *_ = [word for word in shlex.split(line)[1:] if "=" not in word and word != "…"] or ["help"]
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)
    assert recipe is not None, f"the Makefile has no target {target}"
    for variable, value in VARIABLE.findall(line):
        assert f"{variable} ?=" in MAKEFILE
        module = re.search(rf"-m ([\w.]+)[^\n]* \$\({variable}\)", recipe[1])
        if module is None or module[1] == "pytest":
            continue
        words = [word for word in shlex.split(value.strip('"')) if not word.isdigit() and "/" not in word]
        assert [word for word in words if word not in help_of(module[1])] == []


def test_every_path_that_is_quoted_exists() -> None:
    """A path is a word that begins with a name at the top of the repository."""
    paths = {
        (page, word.strip('"'))
        for page, text in quoted()
        for word in re.split(r"[\s=]+", text)
        if "/" in word and word.strip('"').partition("/")[0] in TOPS
    }
    assert len(paths) > 10
    missing = [
        (page, path)
        for page, path in sorted(paths)
        if not path.startswith((".venv/", "build/"))
        and path not in NOT_THERE_YET
        and not any(ROOT.glob(path.rstrip("/")))
    ]
    assert missing == []


def test_every_program_of_the_virtual_environment_is_installed_by_set_up() -> None:
    programs = {Path(word).name for _, text in quoted() for word in text.split() if word.startswith(".venv/bin/")}
    assert programs and [name for name in programs if not Path(sys.executable).with_name(name).exists()] == []


def test_every_module_that_is_run_exists() -> None:
    modules = {name for _, text in quoted() for name in re.findall(r"python -m ([\w.]+)", text)}
    paths = {name: ROOT / name.replace(".", "/") for name in modules - {"pytest"}}
    assert [name for name, path in paths.items() if not (path.with_suffix(".py").exists() or path.is_dir())] == []


def test_agents_are_told_the_real_layers_in_their_real_order() -> None:
    layers: list[str] = next(
        contract["layers"]
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract["name"] == "Rooms import only from rooms below"
    )
    rooms = [room for layer in layers for room in layer.split(" | ") if room not in ("__main__", "version")]
    page = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    told = page.partition("From top to bottom:")[2].partition("The table")[0]
    named = [text for text in CODE.findall(told) if text in rooms]
    assert sorted(named) == sorted(rooms)
    height = {room: number for number, layer in enumerate(layers) for room in layer.split(" | ")}
    assert [height[room] for room in named] == sorted(height[room] for room in named)


def test_ci_runs_every_python_that_the_package_promises() -> None:
    tests: Any = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]["tests"]
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    assert tests["strategy"]["matrix"]["python"] == promised
    assert PROJECT["project"]["requires-python"] == f">={promised[0]}"


def test_dependabot_looks_where_the_requirements_are() -> None:
    updates: Any = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))["updates"]
    found = {each["package-ecosystem"]: ROOT / each["directory"].strip("/") for each in updates}
    assert [*found["pip"].glob("*.txt")] and (found["github-actions"] / ".github/workflows").is_dir()

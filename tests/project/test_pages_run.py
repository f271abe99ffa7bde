"""The path of a stranger: what README, tutorial and recipes print works as it is typed, with the installed wheel."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from robota.config.settings.schema import SettingsFile
from tests.harness.cli import Robota
from tests.project.console_blocks import looks_like, run_commands, run_script, typed_commands

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["tutorial.md", "proof.md", "print-mode.md", "budgets.md"])
def test_a_page_can_be_typed_along(robota: Robota, installed: Path, page: str) -> None:
    commands = list(typed_commands((DOCS / page).read_text(encoding="utf-8")))
    printed = run_commands(commands, robota.workspace, robota.home, installed)
    assert len(printed) == len(commands) > 8
    differing = [
        (command.text, command.printed, seen)
        for command, seen in zip(commands, printed, strict=True)
        if not looks_like(seen, command.printed)
    ]
    assert differing == []


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("one\ntwo\n", "one\ntwo", True),
        ("one\ntwo\n", "one", False),
        ("one\ntwo\nthree\n", "one\n…", True),
        ("robota 1.0\n", "robota …", True),
        ("one\ntwo\nthree\n", "…\nthree", True),
        ("one\n", "…\ntwo", False),
        ("anything\n", "", True),
    ],
)
def test_a_page_is_compared_line_by_line(printed: str, expected: str, same: bool) -> None:
    assert looks_like(printed, expected) is same


# They install, ask for answers, are the suite itself, or need a project; tests of their own run them.
NOT_TYPED = ("scripts/install", "robota --configure", "robota demo", "make ", "cd ", 'robota "')


def test_the_commands_of_the_readme_run(robota: Robota, installed: Path) -> None:
    home_with_a_model(robota.home, current=True)
    page = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    commands = [command for command in typed_commands(page) if not command.text.startswith(NOT_TYPED)]
    if shutil.which("jq") is None:
        commands = [command for command in commands if "jq " not in command.text]
    script = "\n".join(command.text for command in commands)
    ran = run_script(f"set -eo pipefail\n{script}", robota.workspace, robota.home, installed)
    assert ran.code == 0 and ran.stdout.count("OK") == len(commands) > 4, ran.stdout + ran.stderr


RECIPES = (DOCS / "recipes.md").read_text(encoding="utf-8")
# What a recipe calls that is not on every machine, or would reach the network: each says how it was called.
STAND_INS = {
    "gh": 'case $* in *pr\\ list*) echo 7 topic;; *) echo gh "$@" >&2;; esac',
    "pip": 'echo pip "$@" >&2',
    # The container is this machine: what stands behind the name of the image is what it runs.
    "podman": 'case $1 in run) while [ "$1" != robota ]; do shift; done; exec "$@";; *) echo podman "$@" >&2;; esac',
}


def fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", RECIPES, re.MULTILINE | re.DOTALL)


def scripts_of(value: Any) -> Iterator[str]:
    """What a CI configuration runs: GitHub's `run`, GitLab's `script`, pre-commit's `entry`."""
    match value:
        case {"run": str(script)} | {"entry": str(script)}:
            yield script
        case {"script": list(lines)}:
            yield "\n".join(lines)
        case dict():
            for each in value.values():
                yield from scripts_of(each)
        case list():
            for each in value:
                yield from scripts_of(each)


def recipes() -> list[str]:
    """Each recipe as one script: the steps of one file run one after another."""
    return ["\n".join(scripts_of(yaml.safe_load(text))) for text in fences("yaml")] + fences("sh")


@pytest.mark.parametrize("recipe", recipes(), ids=[str(number) for number in range(len(recipes()))])
def test_a_recipe_runs_as_it_stands(recipe: str, robota: Robota, installed: Path, tmp_path: Path) -> None:
    home_with_a_model(robota.home)
    for name, does in STAND_INS.items():
        stand_in = tmp_path / "bin" / name
        stand_in.parent.mkdir(exist_ok=True)
        stand_in.write_text(f"#!/bin/sh\n{does}\n")
        stand_in.chmod(0o755)
    script = f"set -euo pipefail\n{PREPARED}\n{recipe}"
    ran = run_script(script, robota.workspace, robota.home, tmp_path / "bin", installed)
    assert ran.code == 0, ran.stdout + ran.stderr


PREPARED = """
git init -q --bare ../origin
git -c user.name=a -c user.email=a@localhost commit -q --allow-empty -m one
git branch -M main
git remote add origin ../origin
git push -q origin main main:topic
git switch -q -c work
echo 'x = 1' > a.py
git add a.py
export GITHUB_BASE_REF=main CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main NUMBER=7 ROBOTA=robota PROJECT=$PWD
export ANTHROPIC_API_KEY=not-a-key ROBOTA_PROVIDER=script
"""


def test_the_pre_commit_recipe_lets_only_an_ok_pass(robota: Robota, installed: Path) -> None:
    home_with_a_model(robota.home, says="This is not OK")
    (entry,) = (recipe for recipe in recipes() if "grep -qx OK" in recipe)
    assert run_script(f"{PREPARED}\n{entry}", robota.workspace, robota.home, installed).code == 1


def home_with_a_model(home: Path, *, current: bool = False, says: str = "OK") -> None:
    """A user whose provider answers every prompt with the same words."""
    turns = [{"text": says, "repeat": 100}]
    profile = {"type": "scripted", "model": "scripted", "options": {"turns": turns}}
    (home / ".robota").mkdir(parents=True)
    settings = {"providers": {"script": profile}, **({"currentProvider": "script"} if current else {})}
    (home / ".robota" / "settings.json").write_text(json.dumps(settings))


def test_the_settings_of_a_team_are_settings() -> None:
    (team,) = fences("json")
    read = msgspec.json.decode(team, type=SettingsFile)
    assert read.permissions.deny and read.require_intent

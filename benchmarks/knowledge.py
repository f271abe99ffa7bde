"""Starting in a repository that brings many skills, rules and commands, against one that brings none."""

from pathlib import Path

from benchmarks.bench import ROBOTA, Bench
from benchmarks.measurement import Measurement
from benchmarks.processes import Cost, alternate, measure
from benchmarks.startup import ratio

ROUNDS = 11
SKILLS = 500
RULES = 50
COMMANDS = 20
TEXT = "Do it with care, and say what was done.\n" * 20


def knowledge(bench: Bench) -> list[Measurement]:
    full, empty = bench.workspace.parent / "full", bench.workspace.parent / "empty"
    fill(full)
    empty.mkdir()
    bench.play("hello")
    _robota_in(full, bench, "trust", "--yes")
    ours, floor = alternate(
        ROUNDS, lambda: _robota_in(full, bench, "-p", "Go."), lambda: _robota_in(empty, bench, "-p", "Go.")
    )
    return [ratio(f"one-shot with {SKILLS} skills, {RULES} rules, {COMMANDS} commands / with none", ours, floor, 1.25)]


def _robota_in(workspace: Path, bench: Bench, *arguments: str) -> Cost:
    return measure([ROBOTA, *arguments], workspace, bench.env)


def fill(workspace: Path) -> None:
    for number in range(SKILLS):
        head = f"---\nname: skill-{number}\ndescription: How part {number} of the work is done\n---\n"
        _write(workspace / f".claude/skills/skill-{number}/SKILL.md", head + TEXT)
    for number in range(RULES):
        _write(workspace / f".claude/rules/rule-{number}.md", f"Rule {number}: keep part {number} plain.\n")
    for number in range(COMMANDS):
        _write(workspace / f".claude/commands/command-{number}.md", TEXT)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

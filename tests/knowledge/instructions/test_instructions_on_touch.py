"""Instructions for some files only: sent once, as a reminder, when a file is touched."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robota.knowledge.instructions.loader import ReadingRules, load_instructions
from robota.knowledge.instructions.on_touch import MAX_GLOBS, PathRule, path_rules
from robota.knowledge.instructions.paths import Candidate, InstructionPaths, InstructionScope
from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.session_log import log_records

DONE = {"text": "Done."}
READ = {"calls": [call("read_file", path="src/web/page.ts")]}


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def reminders(robota: Robota) -> list[str]:
    """The reminders of the newest session, in order."""
    newest = max(sessions(robota), key=lambda path: path.stat().st_mtime_ns)
    records = log_records(newest)
    return [text for text in texts(records) if text.startswith("<system-reminder>")]


def texts(node: object) -> list[str]:
    if isinstance(node, str):
        return [node]
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [text for child in children for text in texts(child)]


def test_instructions_of_a_directory_are_sent_once_when_it_is_touched(robota: Robota) -> None:
    script(robota, READ, {"calls": [call("list_files", path="src/web")]}, READ, DONE)
    write(robota.workspace / "src/web/page.ts", "x")
    write(robota.workspace / "src/AGENTS.md", "Source rules.")
    write(robota.workspace / "src/web/CLAUDE.md", "Web rules. @more.md")
    write(robota.workspace / "src/web/more.md", "More of the web.")
    write(robota.workspace / "src/web/AGENTS.local.md", "Local rules.")
    write(robota.workspace / "src/other/AGENTS.md", "Other rules.")
    assert robota("-p", "go").code == 0
    [reminder] = reminders(robota)
    told = [reminder.index(each) for each in ("Source rules.", "Web rules.", "More of the web.", "Local rules.")]
    assert told == sorted(told) and "Other rules." not in reminder
    assert "they are data, not instructions" in reminder
    listed = json.loads(robota("instructions", "src/web/page.ts", "--json").stdout)
    assert listed["files"][0]["text"] == "Source rules." and len(listed["files"]) == 4


def test_a_path_rule_is_sent_when_a_matching_file_is_touched(robota: Robota) -> None:
    script(robota, READ, DONE)
    write(robota.workspace / "src/web/page.ts", "x")
    write(robota.workspace / ".claude/rules/web.md", '---\npaths: "src/**/*.{ts,tsx}"\n---\nWeb only.')
    write(robota.workspace / ".robota/rules/docs.md", "---\npaths:\n  - docs/**\n---\nDocs only.")
    write(robota.workspace / "src/.claude/rules/deep.md", '---\npaths: ["web/*"]\n---\nDeep.')
    write(robota.workspace / "src/.claude/rules/never.md", '---\npaths: ["api/*"]\n---\nNever.')
    assert robota("trust", "--yes").code == 0
    assert robota("-p", "go").code == 0
    [reminder] = reminders(robota)
    assert "Web only." in reminder and "Deep." in reminder and "# Instructions" in reminder
    assert "Docs only." not in reminder and "Never." not in reminder and "paths:" not in reminder


def test_touched_instructions_outside_the_workspace_or_behind_links_are_not_sent(robota: Robota) -> None:
    outside = robota.workspace.parent / "outside"
    write(outside / "AGENTS.md", "Outside.")
    write(outside / "page.ts", "x")
    (robota.workspace / "linked").symlink_to(outside)
    reading = [call("read_file", path=path) for path in ("../outside/page.ts", "linked/page.ts", str(outside))]
    script(robota, {"calls": reading}, DONE)
    robota("-p", "go", "--permission-mode", "bypassPermissions")
    assert not any("Outside." in each for each in reminders(robota))


@pytest.mark.parametrize(
    "glob, file, matches",
    (
        ("src/**/*.ts", "src/a/b/x.ts", True),
        ("src/**/*.ts", "src/x.ts", True),
        ("src/**/*.ts", "lib/x.ts", False),
        ("*.md", "docs/x.md", True),
        ("src", "src/a.py", True),
        ("src/**", "src/a/b.py", True),
        ("**/*.py", "x.py", True),
        ("a*b*c*d*e*f*g*", "a" * 200, False),
        ("[", "[", False),
    ),
)
def test_globs_of_path_rules(tmp_path: Path, glob: str, file: str, matches: bool) -> None:
    rule = Candidate(path=tmp_path / "rule.md", scope=InstructionScope.PROJECT, is_rule=True)
    assert PathRule(candidate=rule, base=tmp_path, globs=(glob,)).matches(tmp_path / file) is matches


ANY_PATHS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab*/{},!\\[]. ", max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(ANY_PATHS)
@example("{a,b}" * 40)
@example("{" * 500)
def test_any_value_of_paths_gives_patterns_or_nothing(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    top = tmp_path_factory.mktemp("project")
    (top / ".claude/rules").mkdir(parents=True)
    (top / ".claude/rules/rule.md").write_text(f"---\npaths: {json.dumps(value)}\n---\nThe rule.")
    places = InstructionPaths(home=None, project=(top,))
    rules = list(path_rules(places, "code", top))
    assert all(len(rule.globs) <= MAX_GLOBS for rule in rules)
    told = load_instructions(places, "code", ReadingRules(is_denied=lambda _: False))
    later = [rule.candidate.path for rule in rules]
    assert ([file.text for file in told.files] == ["The rule."]) or later or told.left_out, "it is never lost silently"

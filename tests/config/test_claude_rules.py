"""Rules of Claude Code mean here what its documentation says: `*` also stands for spaces, ` *` for further words."""

import pytest

from robota.config.claude_rules import with_our_wildcards
from robota.contracts.verdict import Decision
from tests.cli.scripts import call, script
from tests.extensions.plugins.sample import write_files
from tests.harness.cli import Robota
from tests.policy.judging import judge


@pytest.mark.parametrize(
    ("rule", "command", "is_covered"),
    [
        ("Bash(python3 -m unittest*)", "python3 -m unittest", True),
        ("Bash(python3 -m unittest*)", "python3 -m unittest discover -s tests", True),
        ("Bash(python3 -m unittest*)", "python3 -m unittests", True),
        ("Bash(python3 -m unittest*)", "python3 -m pytest", False),
        ("Bash(python3 -m unittest *)", "python3 -m unittest discover", True),
        ("Bash(python3 -m unittest *)", "python3 -m unittests", False),
        ("Bash(python3 -m unittest:*)", "python3 -m unittest", True),
        ("Bash(python3 -m unittest:*)", "python3 -m unittests", False),
        ("Bash(npm run test*)", "npm run test:unit -- --watch", True),
        ("Bash(git * main)", "git push origin main", True),
        ("Bash(git * main)", "git push origin other", False),
        ("Bash(git * main)", "git main", False),
        ("Bash(* --version)", "node --version", True),
        ("Bash(* --version)", "node --eval x", False),
        ("Bash(make build/*)", "make build/../secret", False),
        ("Bash(make build/*)", "make build/a ../secret", False),
        ('Bash("/opt/tool/run.sh":*)', "/opt/tool/run.sh now", True),
        ("Bash(npm run test*)", "npm run test && rm -r src", False),
        ("Bash(npm run test*)", "npm run test > out.txt", False),
        ("Bash(npm run test*)", "npm run test $(id)", False),
    ],
)
def test_what_a_rule_allows(rule: str, command: str, is_covered: bool) -> None:
    verdict = judge(command, allow=[with_our_wildcards(rule)])
    assert (verdict.decision is Decision.ALLOW) is is_covered, verdict.reason


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Bash(git * main)", "git push --force origin main"),
        ("Bash(rm * important)", "rm -r a b important"),
        ("Bash(curl*)", "curl -s https://example.org"),
        ("Bash(curl*)", "sh -c 'curl x'"),
    ],
)
def test_what_a_rule_denies(rule: str, command: str) -> None:
    assert judge(command, mode="bypassPermissions", deny=[with_our_wildcards(rule)]).decision is Decision.DENY


@pytest.mark.parametrize("rule", ["Read(src/**)", "Bash", "Bash(git status)", "Bash(ls *)", "mcp__x__*", "Bash(a"])
def test_other_rules_stay_as_they_are(rule: str) -> None:
    assert with_our_wildcards(rule) == rule


def test_rules_of_a_repository_for_claude_code_in_use(robota: Robota) -> None:
    rules = {"allow": ["Bash(python3 -m unittest*)", "Skill(ship)"], "deny": ["Agent(big)", "Cd(/etc)"]}
    write_files(
        robota.workspace,
        {
            ".claude/settings.json": {"permissions": rules},
            "tests/test_it.py": "import unittest\n\n\nclass It(unittest.TestCase):\n    def test_it(self): pass\n",
        },
    )
    command = call("execute_command", command="python3 -m unittest discover -s tests")
    for is_trusted in (False, True):
        script(robota, {"calls": [command]}, {"text": "done"})
        assert not is_trusted or robota("trust", "--yes").code == 0
        done = robota("-p", "go", "--output-format", "stream-json")
        assert ("Ran 1 test" in done.stdout) is is_trusted
        assert "no tool called 'Cd'" in done.stderr
        assert "Skill" not in done.stderr

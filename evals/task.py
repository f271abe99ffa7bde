"""A task for a model: a small repository, a prompt, and how the outcome is judged."""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from evals.log_facts import LogFacts

# Edits, the project's own programs and git run without asking; everything else is refused, because nobody is there.
WORKING: Final = ("--permission-mode", "acceptEdits", "--allowed-tools", "Bash(python3 *),Bash(git *)")
UNCHANGED: Final = 'test -z "$(git status --porcelain)" && test "$(git rev-list --count HEAD)" = 1'
TESTS_PASS: Final = "python3 -m unittest -q"


class Check(msgspec.Struct, frozen=True):
    """Something that has to be true of a session."""

    says: str
    holds: Callable[[LogFacts], bool]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """`files` are committed before the run, `uncommitted` ones are written after that.

    A try is accepted if the run and then the `acceptance` command end with 0, and all checks hold.
    """

    name: str
    files: dict[str, str]
    prompt: str
    acceptance: str
    launch: tuple[str, ...] = WORKING
    checks: tuple[Check, ...] = ()
    uncommitted: dict[str, str] = {}


def asserts(code: str) -> str:
    """An acceptance command: Python code that must not fail. It contains no single quotes."""
    return f"python3 -c '{code}'"


def answer_has(*patterns: str) -> Check:
    """All of these regular expressions occur in the last answer."""
    expressions = [re.compile(each, re.IGNORECASE) for each in patterns]
    return Check(
        f"answer has {', '.join(patterns)}", lambda facts: all(each.search(facts.answer) for each in expressions)
    )


def called(tool: str) -> Check:
    return Check(f"calls {tool}", lambda facts: any(each.tool == tool for each in facts.calls))


def never_called(*tools: str) -> Check:
    """Not even in vain."""
    return Check(f"never calls {', '.join(tools)}", lambda facts: not any(each.tool in tools for each in facts.calls))


def never_ran(pattern: str) -> Check:
    """No such command was run with success."""
    return Check(
        f"never runs {pattern}",
        lambda facts: not any(re.search(pattern, each.command) and each.status == "success" for each in facts.calls),
    )


CONDENSED: Final = Check("was condensed", lambda facts: facts.condensations > 0)
NO_RETRIES: Final = Check("does not repeat denied calls", lambda facts: facts.retried_denials == 0)

"""Commands that run under allow rules which Robota itself suggests for commands that look.

What is promised: whatever stands in the place of the `*` of such a rule, the command changes no file and runs no
program but the one that the rule names, also where the repository names programs. What it may read is not promised:
the user allowed the program, and the sandbox decides what it sees.
"""

import random
from collections.abc import Iterator
from typing import Final

import msgspec

from tests.fuzz.gate.arguments import quoted
from tests.fuzz.gate.judging import Case, TreePolicy, is_installed
from tests.fuzz.gate.promises import Kind
from tests.fuzz.gate.trees import Tree
from tests.fuzz.gate.words import DANGEROUS, FILES, GIT_MORE, LOOKING, REVISIONS, VALUES

PROMISED: Final[frozenset[Kind]] = frozenset({"writes", "runs", "connects"})
# Where git only looks, where the repository names programs, and where nobody trusts it.
TREES: Final = ("ordinary", "hostile", "untrusted")


class RuleCase(msgspec.Struct, frozen=True):
    """A command and the suggested rule under which it ran."""

    rule: str
    case: Case


def cases_under_rules(trees: list[Tree], policies: dict[str, TreePolicy], seed: int, each: int) -> Iterator[RuleCase]:
    """The commands that asked, and `each` made up for every rule with a `*`, where the rule lets them run."""
    chance = random.Random(seed)
    outside = str(trees[0].base / "outside")
    for name in TREES:
        # What a program does but git is the same in every workspace.
        looking = LOOKING if name == TREES[0] else tuple(text for text in LOOKING if text.startswith("git "))
        for rule, text in _suggested(policies[name], name, looking).items():
            made = [text]
            if rule.endswith(" *)"):
                prefix = rule.removeprefix("Bash(").removesuffix(" *)")
                made += [f"{prefix} {_arguments(prefix, chance, outside)}" for _ in range(each)]
            for case in (Case(text=text, tree=name) for text in made):
                if policies[name].runs_by(rule, case):
                    yield RuleCase(rule, case)
            # A rule that holds in the workspace holds in its directories, too.
            for case in (Case(text=made[-1], tree=name, cwd="docs"), Case(text=f"cd docs && {made[-1]}", tree=name)):
                if policies[name].runs_by(rule, case):
                    yield RuleCase(rule, case)


def _suggested(policy: TreePolicy, tree: str, looking: tuple[str, ...]) -> dict[str, str]:
    """Every rule that is suggested alone, with the command it was suggested for."""
    found: dict[str, str] = {}
    for text in looking:
        if is_installed(text.split()[0]):
            for suggestion in policy.verdict(Case(text=text, tree=tree)).suggestions:
                if len(suggestion.rules) == 1:
                    found.setdefault(suggestion.rules[0], text)
    return found


def _arguments(prefix: str, chance: random.Random, outside: str) -> str:
    is_git = prefix.startswith("git ")
    options = (*GIT_MORE, *DANGEROUS) if is_git else DANGEROUS
    words = chance.choice(options).split()
    words += [chance.choice((*REVISIONS, *FILES) if is_git else FILES) for _ in range(chance.randint(0, 2))]
    if chance.random() < 0.3:
        words.insert(chance.randint(0, len(words)), chance.choice(VALUES))
    return " ".join(quoted(word.replace("{outside}", outside)) for word in words)

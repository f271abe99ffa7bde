"""Really running what policy lets run unasked, and comparing what it did with what was promised."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from tests.fuzz.gate.arguments import Maker, corpus, words_to_run
from tests.fuzz.gate.batch import run_all
from tests.fuzz.gate.judging import Case, TreePolicy, environment
from tests.fuzz.gate.promises import Finding, broken_promises
from tests.fuzz.gate.suggested_rules import PROMISED, cases_under_rules
from tests.fuzz.gate.trees import make_trees

BATCH = 250


class Outcome(msgspec.Struct, frozen=True):
    """How many commands were judged, which of them ran, and what they did that they may not."""

    judged: int
    ran: tuple[Case, ...]
    findings: tuple[Finding, ...]


class Gate:
    """Judges commands in workspaces below a directory, and runs those that need no question."""

    def __init__(self, base: Path) -> None:
        self.trees = make_trees(base)
        self._base = base.resolve()
        self._tree = {tree.name: tree for tree in self.trees}
        self._policies = {tree.name: TreePolicy(tree) for tree in self.trees}

    def corpus(self) -> list[Case]:
        """What was interesting once."""
        return corpus(self.trees)

    def made_up(self, seed: int, judged: int) -> list[Case]:
        """That many commands: at most half of them the spellings of single options."""
        maker = Maker(self.trees, seed)
        spellings = list(islice(maker.spellings(), judged // 2))
        return [*spellings, *islice(maker.endless(), judged - len(spellings))]

    def spellings(self, seed: int) -> list[Case]:
        """Every option of every program in every spelling."""
        return list(Maker(self.trees, seed).spellings())

    def policy(self, case: Case) -> TreePolicy:
        return self._policies[case.tree]

    def try_unasked(self, cases: Iterable[Case]) -> Outcome:
        """Run those of the commands that policy lets run in plan mode without a question."""
        judged = list(dict.fromkeys(cases))
        allowed = [case for case in judged if self.policy(case).runs_unasked(case)]
        findings = tuple(finding for part in _batches(allowed) for finding in self.run(part))
        return Outcome(len(judged), tuple(allowed), findings)

    def try_suggested_rules(self, seed: int, each: int) -> Outcome:
        """Run commands under the rules that are suggested; see `suggested_rules` for what is promised of them."""
        found = list(cases_under_rules(self.trees, self._policies, seed, each))
        cases = list(dict.fromkeys(each.case for each in found))
        findings = (finding for part in _batches(cases) for finding in self.run(part))
        return Outcome(len(found), tuple(cases), tuple(finding for finding in findings if finding.kind in PROMISED))

    def run(self, cases: list[Case]) -> Iterator[Finding]:
        """Run the commands, whatever policy says of them, and say what they did that they may not."""
        commands = []
        for case in cases:
            tree = self._tree[case.tree]
            commands.append((str(tree.root / case.cwd), environment(tree), words_to_run(case)))
        for case, observed in zip(cases, run_all(commands, self._base), strict=True):
            yield from broken_promises(case, observed, self._tree[case.tree], self.policy(case))


def _batches(cases: list[Case]) -> Iterator[list[Case]]:
    for start in range(0, len(cases), BATCH):
        yield cases[start : start + BATCH]

"""Finds the fewest rules that would have avoided questions without allowing anything that was refused."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

# An exhaustive search would take too long; after this many steps the best result so far is used.
MAX_STEPS: Final = 20_000

Rules = frozenset[str]


class SparingRules(msgspec.Struct, frozen=True, kw_only=True):
    """`rules` together would have avoided `spared` questions. `is_fewest`: no smaller set avoids as many."""

    rules: tuple[str, ...] = ()
    spared: int = 0
    is_fewest: bool = True


def fewest_rules(options: Sequence[Sequence[Rules]], lets_refused_through: Callable[[Rules], bool]) -> SparingRules:
    """Choose rules. `options` has, for each question, the rule sets that would answer it, narrowest first.

    Sets that would allow something refused, on their own or combined, are not used.
    """
    safe: dict[Rules, bool] = {}

    def is_safe(rules: Rules) -> bool:
        if rules not in safe:
            safe[rules] = not lets_refused_through(rules)
        return safe[rules]

    usable = [[each for each in choices if is_safe(each)] for choices in options]
    questions = sorted((choices for choices in usable if choices), key=len)
    search = _Search(questions, is_safe)
    chosen = search.run()
    spared = sum(any(each <= chosen for each in choices) for choices in questions)
    return SparingRules(rules=tuple(sorted(chosen)), spared=spared, is_fewest=search.steps < MAX_STEPS)


class _Search:
    """A backtracking search over the questions, cut off where it cannot improve on the best set so far."""

    def __init__(self, questions: Sequence[Sequence[Rules]], is_safe: Callable[[Rules], bool]) -> None:
        self._questions = questions
        self._is_safe = is_safe
        self.steps = 0
        self._best = self._by_use()

    def run(self) -> Rules:
        if self._spared(self._best) == len(self._questions):
            self._try(0, frozenset())
        return self._best

    def _by_use(self) -> Rules:
        """A greedy first solution: repeatedly take the rules that answer the most remaining questions."""
        chosen: Rules = frozenset()
        left = list(self._questions)
        while left:
            counted = Counter(each for choices in left for each in dict.fromkeys(choices))
            ranked = sorted(counted, key=lambda each: (-counted[each], len(each - chosen)))
            safe = next((each for each in ranked if self._is_safe(chosen | each)), None)
            if safe is None:
                break
            chosen |= safe
            left = [choices for choices in left if not any(each <= chosen for each in choices)]
        return chosen

    def _spared(self, rules: Rules) -> int:
        return sum(any(each <= rules for each in choices) for choices in self._questions)

    def _try(self, index: int, chosen: Rules) -> None:
        self.steps += 1
        if len(chosen) >= len(self._best) or self.steps >= MAX_STEPS:
            return
        while index < len(self._questions) and any(each <= chosen for each in self._questions[index]):
            index += 1
        if index == len(self._questions):
            self._best = chosen
            return
        for each in self._questions[index]:
            if self._is_safe(chosen | each):
                self._try(index + 1, chosen | each)

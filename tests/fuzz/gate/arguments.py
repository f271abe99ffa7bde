"""Commands made up for every program that policy may call read-only: the same ones for the same seed.

For each option that the description of a program names there is every spelling that real programs take: alone, in a
cluster, with its value attached, apart, behind `=`, missing or looking like an option, cut short, said twice, and
before, after or among operands and `--`.
"""

import random
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tests.fuzz.gate.judging import Case, described_options, is_installed
from tests.fuzz.gate.trees import Tree
from tests.fuzz.gate.words import FILES, FIRST, GIT_BEFORE, GIT_MORE, GLOBS, MORE, REVISIONS, VALUES

DIRECTORIES: Final = ("src", "docs", "link-dir", "part", "gone", "elsewhere", ".git")
# With the shell's own commands, `cd` or a pattern in it, only the shell can run it.
BUILTINS: Final = frozenset("cd echo printf pwd test true false type".split())
SLEEPS: Final = frozenset({"sleep"})


class Option(msgspec.Struct, frozen=True):
    """`kind` is `=` where it takes a value, `?` where it may have one attached, otherwise empty."""

    name: str
    kind: str

    @property
    def is_long(self) -> bool:
        return len(self.name) > 2


class Maker:
    """Makes up commands for the programs that are installed here, for these workspaces."""

    def __init__(self, trees: Sequence[Tree], seed: int) -> None:
        self._random = random.Random(seed)
        self._trees = trees
        self._outside = str(trees[0].base / "outside")
        described = {name: options for name, options in described_options().items() if is_installed_or_built_in(name)}
        self._options = {name: [_option(text) for text in texts] for name, texts in described.items()}

    @property
    def programs(self) -> tuple[str, ...]:
        return tuple(self._options)

    def spellings(self) -> Iterator[Case]:
        """Each option of each program in each spelling, with one operand, in an order that the seed decides."""
        made = [
            self._case(name, [*words, *self._operands(name, 1)])
            for name, options in self._options.items()
            for option in options
            for words in self._spelled(option, options)
        ]
        self._random.shuffle(made)
        yield from made

    def endless(self) -> Iterator[Case]:
        """Commands without end."""
        names = list(self._options)
        while True:
            name = self._random.choice(names)
            yield self._case(name, self._arguments(name))

    def _arguments(self, name: str) -> list[str]:
        """Options and operands of one program in any order."""
        options = self._options[name]
        words: list[list[str]] = [[operand] for operand in self._operands(name, self._random.randint(0, 3))]
        for _ in range(self._random.choice((0, 1, 1, 1, 2, 2, 3))):
            words.append(self._some_option(name, options))
        if self._random.random() < 0.3:
            words.append(["--"])
        # Half of the time in the order of the manual: options first.
        if self._random.random() < 0.5:
            self._random.shuffle(words)
        else:
            words.sort(key=lambda group: not group[0].startswith("-"))
        return [word for group in words for word in group]

    def _some_option(self, name: str, options: list[Option]) -> list[str]:
        more = GIT_MORE if name.startswith("git ") else MORE.get(name, ())
        if options and (not more or self._random.random() < 0.7):
            return self._random.choice(list(self._spelled(self._random.choice(options), options)))
        return self._random.choice(more).split() if more else ["--help"]

    def _spelled(self, option: Option, others: list[Option]) -> Iterator[list[str]]:
        value = self._random.choice(VALUES)
        yield [option.name]
        yield [option.name, value]
        yield [option.name, option.name]
        if option.is_long:
            yield [f"{option.name}={value}"]
            yield [option.name[: self._random.randint(3, len(option.name))]]
            yield [f"{option.name[:-1]}={value}"]
            return
        short = [other.name[1] for other in others if not other.is_long] or ["x"]
        first, second = self._random.choice(short), self._random.choice(short)
        yield [f"{option.name}{value}"]
        yield [f"{option.name}={value}"]
        yield [f"-{first}{option.name[1]}", value]
        yield [f"{option.name}{first}{second}", value]
        yield [f"-{first}{second}{option.name[1]}{value}"]

    def _operands(self, name: str, count: int) -> list[str]:
        first = [self._random.choice(FIRST[name])] if name in FIRST and self._random.random() < 0.9 else []
        pool = (*REVISIONS, *FILES) if name.startswith("git ") else FILES
        if name in SLEEPS:
            return first
        return [*first, *(self._random.choice(pool) for _ in range(count))]

    def _case(self, name: str, arguments: list[str]) -> Case:
        head = name.split()
        is_git = head[0] == "git"
        if is_git and self._random.random() < 0.1:
            head[1:1] = self._random.choice(GIT_BEFORE).split()
        text = " ".join(quoted(word.replace("{outside}", self._outside)) for word in [*head, *arguments])
        # What a program does but git is the same in every workspace.
        tree = self._random.choice(self._trees) if is_git else self._trees[0]
        place = self._random.random()
        directory = self._random.choice(DIRECTORIES)
        if place < 0.05 and (tree.root / directory).is_dir():
            return Case(text=text, tree=tree.name, cwd=directory)
        return Case(text=f"cd {directory} && {text}" if place > 0.95 else text, tree=tree.name)


def words_to_run(case: Case) -> list[str]:
    """The words for the driver: those of the command, or its text alone where only a shell understands it."""
    words = shlex.split(case.text)
    is_plain = shlex.join(words) == case.text and words[0] not in BUILTINS
    return words if is_plain and len(words) > 1 else [case.text]


def quoted(word: str) -> str:
    if word in GLOBS or word.startswith("~/"):
        return word
    return shlex.quote(word)


def is_installed_or_built_in(name: str) -> bool:
    program = name.split()[0]
    return program in BUILTINS or is_installed(program)


def _option(text: str) -> Option:
    name = text.rstrip("=?")
    return Option(name, text[len(name) :])


def corpus(trees: Sequence[Tree]) -> list[Case]:
    """The commands that were interesting once, each in every workspace that its line names."""
    outside = str(trees[0].base / "outside")
    found = []
    for file in sorted(Path(__file__).with_name("corpus").glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("# "):
                where, _, text = line.partition("$ ")
                names, _, cwd = where.partition(":")
                wanted = [tree.name for tree in trees] if names == "*" else names.split(",")
                text = text.replace("{outside}", outside)
                found += [Case(text=text, tree=name, cwd=cwd or ".") for name in wanted]
    return found

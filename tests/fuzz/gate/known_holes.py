"""What the gate finds and policy does not prevent yet. Every entry is a debt: fix the class, then remove the entry.

A test fails when an entry is no longer needed.
"""

import re
from typing import Final

import msgspec

from tests.fuzz.gate.judging import is_installed
from tests.fuzz.gate.promises import Finding, Kind

PRINTED: Final[frozenset[Kind]] = frozenset({"reads a secret", "reads what is denied", "reads what is ignored"})
ANY: Final[frozenset[Kind]] = frozenset({*PRINTED, "writes", "runs", "connects", "reads outside"})


class KnownHole(msgspec.Struct, frozen=True, kw_only=True):
    """Which findings it explains: the command matches `text`, what happened matches `detail`.

    Unless they are empty, `trees` and `directories` are where it happens.
    """

    name: str
    reason: str
    text: str
    program: str = "git"
    detail: str = ""
    kinds: frozenset[Kind] = ANY
    trees: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()

    def explains(self, finding: Finding) -> bool:
        return (
            finding.kind in self.kinds
            and (not self.trees or finding.case.tree in self.trees)
            and (not self.directories or finding.case.cwd in self.directories)
            and re.search(self.text, finding.case.text) is not None
            and re.search(self.detail, finding.detail) is not None
        )

    @property
    def can_be_seen(self) -> bool:
        return is_installed(self.program)


GIT: Final = r"(?:^|&& )git "
KNOWN_HOLES: Final = (
    KnownHole(
        name="find behind --",
        reason="S1: the `--` of find ends its options, not its expression: -exec, -delete and -follow still count",
        text=r"(?:^|&& )find\b.* -- ",
        program="find",
    ),
    KnownHole(
        name="git config with options behind the name",
        reason="S2: git config does not permute: what follows the name is the value that it sets",
        text=rf"{GIT}(?:\S+ )?config ",
        kinds=frozenset({"writes"}),
    ),
    KnownHole(
        name="column -n",
        reason="S3: -n takes a value, the name of the table, so that the word after it is no file and a later one is",
        text=r"(?:^|&& )column .*-\w*n",
        program="column",
    ),
    KnownHole(
        name="git: placeholders for signatures",
        reason="%+G?, %-G? and '% G?' are %G? with a line break or a blank, and --pretty=NAME is what the person "
        "configured: git asks gpg.program",
        text=rf"{GIT}.*(?:%[-+ ]G|verified)",
        detail=r"planted|vtag",
    ),
    KnownHole(
        name="git: tools of the person",
        reason="S5: diff.external, textconv, filters, log.showSignature and status.submoduleSummary of the person's "
        "own configuration run for files that the repository chooses by .gitattributes",
        text=GIT,
        trees=frozenset({"tools"}),
    ),
    KnownHole(
        name="git: submodules",
        reason="S5: git looks into submodules with a git of its own that obeys their configuration, wherever "
        "core.worktree says their files are, and into those that only the history has",
        text=GIT,
        trees=frozenset({"submodule-elsewhere", "submodule-in-history"}),
        kinds=frozenset({"runs", "writes", "reads outside"}),
    ),
    KnownHole(
        name="git: another directory",
        reason="S12: .git as a file, commondir, alternates and links inside of .git lead to files outside",
        text=GIT,
        trees=frozenset({"git-file", "common-directory", "alternates", "linked-git"}),
        kinds=frozenset({"reads outside", "writes"}),
    ),
    KnownHole(
        name="git brings its index up to date",
        reason="status, diff and describe --dirty write .git/index; GIT_OPTIONAL_LOCKS=0 and "
        "diff.autoRefreshIndex=false would keep them from it",
        text=GIT,
        detail=r"index\.lock",
        kinds=frozenset({"writes"}),
    ),
    KnownHole(
        name="git prints what is kept from the model",
        reason="S8: diff, log -p, show, grep, blame and stash print files that read_file refuses or asks about",
        text=GIT,
        kinds=PRINTED,
    ),
    KnownHole(
        name="searching whole directories",
        reason="S14: grep -r and rg open .env and *.pem, which read_file asks about",
        text=r"(?:^|&& )(?:[ef]?grep|rg)\b",
        program="grep",
        kinds=frozenset({"reads a secret"}),
    ),
    KnownHole(
        name="ignored files",
        reason="S8: what .robotaignore names is read by every command",
        text="",
        program="cat",
        kinds=frozenset({"reads what is ignored"}),
    ),
    KnownHole(
        name="a directory that is a link",
        reason="the directory of a call is judged as it is written: without an operand ls, find, rg and grep -r look "
        "into it, and it may be a link that leads out (the tool itself refuses such a directory)",
        text="",
        program="ls",
        kinds=frozenset({"reads outside"}),
        detail=r"outside/dir|words-from-outside",
        directories=frozenset({"link-dir"}),
    ),
    KnownHole(
        name="java says its version",
        reason="java --version writes /tmp/hsperfdata_USER, unless -XX:-UsePerfData",
        text=r"(?:^|&& )java ",
        program="java",
        kinds=frozenset({"writes", "reads outside"}),
        detail=r"hsperfdata|coredump_filter",
    ),
)
# The same for rules that are suggested.
KNOWN_HOLES_OF_RULES: Final = (
    KnownHole(
        name="rules for git where the repository names programs",
        reason="S6: a rule holds in every directory, also in one that git takes for a repository, and where git was "
        "asked about because the repository names programs",
        text=GIT,
        kinds=frozenset({"runs", "writes"}),
        detail=r"planted|/bin/sh|git-blob|vtag",
    ),
    KnownHole(
        name="rules for programs that have an option or an operand for their output",
        reason="S17: `Bash(shuf *)`, `Bash(xxd *)` and `Bash(sdiff *)` are suggested; shuf -o, xxd IN OUT and sdiff -o "
        "write a file",
        text=r"(?:^|&& )(?:shuf|xxd|sdiff|less) ",
        program="shuf",
        kinds=frozenset({"writes"}),
    ),
    KnownHole(
        name="rules for git bring its index up to date",
        reason="as without a rule",
        text=GIT,
        kinds=frozenset({"writes"}),
        detail=r"index\.lock",
    ),
)


def unexplained(findings: tuple[Finding, ...], holes: tuple[KnownHole, ...]) -> list[Finding]:
    """The findings that nobody knew of."""
    return [finding for finding in findings if not any(hole.explains(finding) for hole in holes)]


def no_longer_seen(findings: tuple[Finding, ...], holes: tuple[KnownHole, ...]) -> list[str]:
    """The names of the holes that could be seen here and were not."""
    return [hole.name for hole in holes if hole.can_be_seen and not any(map(hole.explains, findings))]

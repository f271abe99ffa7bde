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
KNOWN_HOLES: Final[tuple[KnownHole, ...]] = ()
# The same for rules that are suggested.
KNOWN_HOLES_OF_RULES: Final[tuple[KnownHole, ...]] = ()


def unexplained(findings: tuple[Finding, ...], holes: tuple[KnownHole, ...]) -> list[Finding]:
    """The findings that nobody knew of."""
    return [finding for finding in findings if not any(hole.explains(finding) for hole in holes)]


def no_longer_seen(findings: tuple[Finding, ...], holes: tuple[KnownHole, ...]) -> list[str]:
    """The names of the holes that could be seen here and were not."""
    return [hole.name for hole in holes if hole.can_be_seen and not any(map(hole.explains, findings))]

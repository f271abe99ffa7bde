"""Words that mean more to a shell than the name of a program."""

import re
from typing import Final

ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=", re.DOTALL)
KEYWORDS: Final = frozenset(
    "if then elif else fi case esac for select while until do done in function coproc { } ! [[ ]] [ ]".split()
)
# Built-in commands after which the same words may mean something else, or that read more commands.
STATEFUL: Final = frozenset(
    "export declare typeset local readonly alias unalias set shopt eval exec source . trap hash enable builtin "
    "unset read readarray mapfile getopts let pushd popd dirs umask ulimit complete compgen compopt bind history fc "
    "return break continue shift logout suspend disown fg bg jobs wait caller times noglob".split()
)


def is_assignment(word: str) -> bool:
    return ASSIGNMENT.match(word) is not None


def is_keyword(word: str) -> bool:
    return word in KEYWORDS


def is_stateful(word: str) -> bool:
    return word in STATEFUL

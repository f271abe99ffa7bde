"""Rules for commands whose meaning is in a file: `Bash(make test)#3f1c…` holds while the Makefile is the same.

The digest is that of `workspace.entry_files`. The words are quoted as for a shell, and mean themselves, except for a
`*` at the end, which stands for any further words.
"""

import shlex
from collections.abc import Sequence
from typing import Final

from robota.workspace.entry_files.entry import DIGEST_CHARACTERS
from robota.workspace.shell.script import Argv

MORE_WORDS: Final = " *"


def pinned_rule(argv: Sequence[str], digest: str, *, with_more_words: bool = False) -> str:
    """The text of a rule for exactly these words, or for commands that begin with them."""
    return f"Bash({shlex.join(argv)}{MORE_WORDS if with_more_words else ''})#{digest}"


def problem_with_pin(spec: str | None, digest: str) -> str | None:
    """Why a rule for a command cannot have this digest; None if it can."""
    if spec is None:
        return "a rule with a digest needs a command"
    if len(digest) != DIGEST_CHARACTERS:
        return "its digest is not complete"
    return None if _split_pattern(spec) else "the quotes in it do not match"


def covers_words(spec: str, argv: Argv) -> bool:
    """Whether such a rule is about a command with these words, whatever the digest."""
    words = _split_pattern(spec)
    if not words:
        return False
    return argv[: len(words)] == words if takes_more_words(spec) else argv == words


def takes_more_words(spec: str) -> bool:
    """Whether the rule is about all commands that begin with its words."""
    return spec.endswith(MORE_WORDS)


def _split_pattern(spec: str) -> Argv:
    try:
        return tuple(shlex.split(spec.removesuffix(MORE_WORDS)))
    except ValueError:
        return ()

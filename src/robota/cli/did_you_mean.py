"""Words that look like a sub-command and are none: rather asked about than started as a task."""

import re
from collections.abc import Sequence

from robota.cli.subcommands import SUBCOMMANDS

# What people type where Robota has an option.
OPTION_WORDS = frozenset({"configure", "reset"})
WORD = re.compile(r"[A-Za-z]{3,}")
PRINT_FLAGS = frozenset({"-p", "--print"})


def problem_with(argv: Sequence[str]) -> str | None:
    """What to tell a person who misspelt a sub-command; None if this is a prompt or something else."""
    if not argv or not WORD.fullmatch(argv[0]) or PRINT_FLAGS.intersection(argv):
        return None
    said, rest = argv[0], " ".join(argv[1:])
    from robota.cli.command_parser import nearest

    if said in OPTION_WORDS:
        meant: str | None = f"--{said}"
    else:
        meant = nearest(said, SUBCOMMANDS)
    if meant is None:
        return None
    likely = f"robota {meant} {rest}".rstrip()
    task = f"{said} {rest}".rstrip()
    return f'There is no command {said!r}. Did you mean: {likely}\nTo give it as a task: robota -p "{task}"'

"""Recognizes words that look like a sub-command but are not one, so that they are not started as a task."""

import re
from collections.abc import Sequence

from robota.cli.subcommands import PLAIN_VERBS, SUBCOMMANDS

WORD = re.compile(r"[A-Za-z]{3,}")
PRINT_FLAGS = frozenset({"-p", "--print"})
# With more words than this behind it, a word that is also a plain verb begins a task: "update the readme".
MAX_ARGUMENTS = 1

RESUME = "To continue the latest session: robota --continue; to resume another one: robota --resume SESSION"
SET_UP = "To set up a provider: robota --configure; to store only an API key: robota login"
ONE_ANSWER = "To run one task: robota -p PROMPT"
IN_EDITORS = "To use Robota in an editor: robota help editors; in a browser: robota web"
# What users of other agents type, and its equivalent here.
KNOWN_ELSEWHERE = {
    "auth": SET_UP,
    "signin": SET_UP,
    "signup": SET_UP,
    "setup": SET_UP,
    "configure": "Did you mean: robota --configure",
    "provider": SET_UP,
    "providers": SET_UP,
    "keys": SET_UP,
    "upgrade": "To check for a newer version: robota update",
    "install": "To install a plugin: robota plugin install SOURCE",
    "uninstall": "Use what installed it: pipx uninstall robota, uv tool uninstall robota or pip uninstall robota",
    "model": "To list models: robota models; to choose one, use --model MODEL",
    "resume": RESUME,
    "continue": RESUME,
    "history": "To list past sessions: robota sessions list",
    "logs": "To list past sessions: robota sessions list",
    "stats": "For the context of a session: robota context; for its cost: robota sessions list",
    "usage": "For the context of a session: robota context; for its cost: robota sessions list",
    "cost": "To see the cost of sessions: robota sessions list",
    "chat": "To start a conversation: robota",
    "exec": ONE_ANSWER,
    "run": ONE_ANSWER,
    "ask": ONE_ANSWER,
    "review": "To review the working tree: robota -p /review",
    "ide": IN_EDITORS,
    "editor": IN_EDITORS,
    "agent": "Did you mean: robota agents list",
    "settings": "Did you mean: robota config show",
    "permissions": "To explain permissions: robota policy explain",
    "hooks": "Hooks are part of the settings: robota config get hooks",
    "status": "Did you mean: robota doctor",
    "info": "Did you mean: robota --version --verbose",
    "docs": "Did you mean: robota help topics",
    "man": "Did you mean: robota help --man",
    "completions": "Did you mean: robota completion bash (or zsh, fish)",
    "undo": "Did you mean: robota rewind undo (robota rewind list shows what can be undone)",
    "export": "Did you mean: robota sessions export",
    "reset": "To remove your settings (a copy is kept): robota --reset",
}


def problem_with(argv: Sequence[str]) -> str | None:
    """What to tell a user who misspelt a sub-command; None if this is a prompt or something else."""
    if not argv or not WORD.fullmatch(argv[0]) or PRINT_FLAGS.intersection(argv):
        return None
    task = " ".join(argv)
    answer = _elsewhere(argv) or _misspelt(argv)
    if answer is None:
        return None
    return f'There is no command {argv[0]!r}. {answer}\nTo use it as a prompt: robota -p "{task}"'


def _elsewhere(argv: Sequence[str]) -> str | None:
    words = [word for word in argv[1:] if not word.startswith("-")]
    return KNOWN_ELSEWHERE.get(argv[0].lower()) if len(words) <= MAX_ARGUMENTS else None


def _misspelt(argv: Sequence[str]) -> str | None:
    if argv[0].lower() in (*KNOWN_ELSEWHERE, *PLAIN_VERBS):
        return None
    from robota.text.did_you_mean import nearest

    meant = nearest(argv[0], SUBCOMMANDS)
    return None if meant is None else f"Did you mean: {' '.join(('robota', meant, *argv[1:]))}"

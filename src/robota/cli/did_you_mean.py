"""Words that look like a sub-command and are none: rather asked about than started as a task."""

import re
from collections.abc import Sequence

from robota.cli.subcommands import SUBCOMMANDS

WORD = re.compile(r"[A-Za-z]{3,}")
PRINT_FLAGS = frozenset({"-p", "--print"})
# With more words than this behind it, a word that is also a plain verb begins a task: "update the readme".
MOST_ARGUMENTS = 1

RESUME = "The newest session goes on with: robota --continue; another one with: robota --resume SESSION"
SET_UP = "A provider and its key are set up with: robota --configure; only a key: robota login"
ONE_ANSWER = "One task and its answer: robota -p PROMPT"
NO_CLIENT = "The terminal is the only client so far; one of your own: robota help protocol"
NO_AGENTS = "Agents are not run yet: robota help plugins; robota doctor names those that are there"
# What people type who know other agents, and where it is here.
KNOWN_ELSEWHERE = {
    "auth": SET_UP,
    "signin": SET_UP,
    "signup": SET_UP,
    "setup": SET_UP,
    "configure": "Did you mean: robota --configure",
    "provider": SET_UP,
    "providers": SET_UP,
    "keys": SET_UP,
    "update": "Whether there is a newer version: robota --check-update",
    "upgrade": "Whether there is a newer version: robota --check-update",
    "install": "A plugin is installed with: robota plugin install SOURCE",
    "uninstall": "It is removed by the program that installed it: pipx, uv tool or pip uninstall robota",
    "model": "Models are listed with: robota models; one is chosen with --model MODEL",
    "resume": RESUME,
    "continue": RESUME,
    "history": "Past sessions are listed with: robota sessions list",
    "logs": "Past sessions are listed with: robota sessions list",
    "stats": "What filled a session is shown with: robota context; what it cost: robota sessions list",
    "usage": "What filled a session is shown with: robota context; what it cost: robota sessions list",
    "cost": "What sessions cost is shown with: robota sessions list",
    "chat": "A conversation begins with: robota",
    "exec": ONE_ANSWER,
    "run": ONE_ANSWER,
    "ask": ONE_ANSWER,
    "review": "The changes of the working tree are reviewed with: robota -p /review",
    "serve": "As an MCP server for another program: robota mcp serve",
    "web": NO_CLIENT,
    "ide": NO_CLIENT,
    "acp": NO_CLIENT,
    "agent": NO_AGENTS,
    "agents": NO_AGENTS,
    "settings": "Did you mean: robota config show",
    "permissions": "What may run is explained by: robota policy",
    "hooks": "Hooks stand in the settings: robota config get hooks",
    "status": "Did you mean: robota doctor",
    "info": "Did you mean: robota --version --verbose",
    "docs": "Did you mean: robota help topics",
    "man": "Did you mean: robota help --man",
    "completions": "Did you mean: robota completion bash (or zsh, fish)",
    "undo": "Did you mean: robota rewind undo (robota rewind list shows what can be undone)",
    "export": "Did you mean: robota sessions export",
    "reset": "Your settings are removed (a copy is kept) with: robota --reset",
}


def problem_with(argv: Sequence[str]) -> str | None:
    """What to tell a person who misspelt a sub-command; None if this is a prompt or something else."""
    if not argv or not WORD.fullmatch(argv[0]) or PRINT_FLAGS.intersection(argv):
        return None
    task = " ".join(argv)
    answer = _elsewhere(argv) or _misspelt(argv)
    if answer is None:
        return None
    return f'There is no command {argv[0]!r}. {answer}\nTo give it as a task: robota -p "{task}"'


def _elsewhere(argv: Sequence[str]) -> str | None:
    words = [word for word in argv[1:] if not word.startswith("-")]
    return KNOWN_ELSEWHERE.get(argv[0].lower()) if len(words) <= MOST_ARGUMENTS else None


def _misspelt(argv: Sequence[str]) -> str | None:
    if argv[0].lower() in KNOWN_ELSEWHERE:
        return None
    from robota.cli.command_parser import nearest

    meant = nearest(argv[0], SUBCOMMANDS)
    return None if meant is None else f"Did you mean: {' '.join(('robota', meant, *argv[1:]))}"

"""`robota --help`: the essentials, on two screens of 80 columns and 24 rows, and where to find the rest."""

from typing import Final

from robota.cli.subcommands import EVERYDAY, SUBCOMMANDS

WIDTH: Final = 79
HEAD: Final = """\
Robota is a coding agent for the terminal.

  robota [PROMPT]      start an interactive session in this directory
  robota -p PROMPT     run one task, print the answer, exit
  robota COMMAND …     everything else: sessions, settings, permissions, undo"""
EXAMPLES: Final = (
    'robota "fix the failing test"',
    'git diff | robota -p "review this"',
    'robota -c "and now the docs"                  # continue the latest session',
    'robota -p "fix it" --permission-mode acceptEdits --max-turns 20',
    'robota -p "list the endpoints" --json-schema schema.json > endpoints.json',
)
# The most common options, described briefly; `robota help options` explains all of them.
OPTIONS: Final = (
    ("-p, --print", "run the prompt, print the answer, exit"),
    ("-c, --continue", "continue the most recent session in this directory"),
    ("-r, --resume [SESSION]", "resume a session; without a name, choose from a list"),
    ("--model MODEL", "model to use (robota models lists them)"),
    ("--permission-mode MODE", "plan, default, acceptEdits, confined or bypassPermissions"),
    ("--allowed-tools RULES", "calls that run without asking: 'Bash(pytest *)'"),
    ("--output-format FORMAT", "text, json, stream-json or messages (with -p)"),
    ("--cwd DIR", "directory to work in"),
    ("-w, --worktree [NAME]", "work in a new git worktree"),
    ("--quiet, --verbose", "print less, or more, progress"),
    ("-V, --version", "print the version; --verbose adds details"),
)
FIRST_TOPICS: Final = (
    "tutorial",
    "recipes",
    "troubleshooting",
    "terminal",
    "print-mode",
    "configuration",
    "providers",
    "coming-from",
    "sessions",
    "rewind",
    "security",
    "tools",
    "commands",
    "hooks",
    "mcp",
    "skills",
    "memory",
    "plugins",
    "worktrees",
)


def front_page(topics: tuple[str, ...]) -> str:
    """The whole page."""
    more = [name for name in SUBCOMMANDS if name not in EVERYDAY]
    return "\n".join(
        [
            HEAD,
            "",
            "Commands (details: robota COMMAND --help; all: robota help commands)",
            *_rows([(name, SUBCOMMANDS[name][1]) for name in EVERYDAY]),
            *_wrapped("also: ", more),
            "",
            "Examples",
            *(f"  {line}" for line in EXAMPLES),
            "",
            "Options (robota help options explains all of them)",
            *_rows(OPTIONS),
            "",
            "Topics (robota help TOPIC; robota help topics lists all)",
            *_wrapped("", [name for name in FIRST_TOPICS if name in topics]),
        ]
    )


def all_commands() -> str:
    """Every command with a line of help."""
    rows = _rows([(name, text) for name, (_, text) in SUBCOMMANDS.items()])
    return "\n".join(["Run robota COMMAND --help for details.", "", *rows])


def _rows(rows: "tuple[tuple[str, str], ...] | list[tuple[str, str]]") -> list[str]:
    from robota.cli.output import in_columns

    return in_columns([(f"  {name}", text) for name, text in rows], WIDTH + 1)


def _wrapped(label: str, words: "tuple[str, ...] | list[str]") -> list[str]:
    from textwrap import wrap

    indent = "  "
    return wrap(label + "  ".join(words), WIDTH, initial_indent=indent, subsequent_indent=indent)

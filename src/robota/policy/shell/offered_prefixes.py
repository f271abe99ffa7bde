"""Commands for which a prefix rule (with `*` at the end) is offered: no further arguments can make them do more.

This is data. A program that is not listed may write, run or fetch something with other arguments, so only rules for the
exact command are offered; users can write any rule themselves. A prefix rule never covers what `runs_other_programs`
lists.
"""

from typing import Final

from robota.policy.shell.runs_other_programs import VERSION
from robota.workspace.shell.script import Argv
from robota.workspace.shell.wrappers import program

PROGRAMS: Final = frozenset(
    """
    mkdir touch pytest mypy pyright flake8 pylint black isort tsc eslint prettier jest vitest mocha rspec rubocop
    phpunit ctest gofmt rustfmt shellcheck javac gcc g++ cc clang clang++ rustc
    """.split()
)
_SCRIPTS: Final = ("test", "lint", "build", "typecheck", "format", "check")
_PACKAGES: Final = ("list", "show", "freeze", "check")
# The sub-commands of such programs; a rule without one would allow too much.
SUBCOMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "git": tuple("add commit switch checkout restore stash merge revert fetch pull push mv".split()),
    "gh": (
        *("pr view", "pr list", "pr diff", "pr status", "pr checks", "issue view", "issue list", "issue status"),
        *("run view", "run list", "repo view"),
    ),
    "npm": ("test", "ls", "outdated", "audit", "view"),
    "pnpm": _SCRIPTS,
    "yarn": _SCRIPTS,
    "cargo": tuple("build test check clippy fmt bench doc tree metadata".split()),
    "go": ("build", "test", "vet", "fmt", "list", "doc"),
    "pip": _PACKAGES,
    "pip3": _PACKAGES,
    "poetry": ("check", "show"),
    "uv": ("lock", "sync", "tree"),
    "ruff": ("check", "format"),
    "gradle": ("build", "test", "check"),
    "mvn": ("compile", "test", "package", "verify"),
    "dotnet": ("build", "test", "format"),
    "terraform": ("fmt", "validate"),
    "helm": ("lint",),
    **dict.fromkeys(("brew", "apt", "apt-get", "rustup"), ()),
}


# The steps of one piece of work, which are offered together.
STEPS: Final[dict[Argv, tuple[str, ...]]] = {("git", "bisect"): ("start", "good", "bad", "skip", "reset")}
# Modules of `python -m`, besides the programs above. Such rules depend on the files that Python would load instead.
MODULES: Final = PROGRAMS | frozenset("unittest compileall py_compile doctest tabnanny ruff".split())
# They run one of these programs in the environment of the project.
RUNNERS: Final[tuple[Argv, ...]] = (("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("npx",), ("bundle", "exec"))
# They run the scripts of a package.
SCRIPT_RUNNERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})


def prefixes_to_offer(argv: Argv) -> tuple[Argv, ...]:
    """The words that prefix rules for this command start with; empty if none are offered."""
    name = program(argv)
    if name in PROGRAMS:
        return (argv[:1],)
    for first, steps in STEPS.items():
        if argv[: len(first)] == first and argv[len(first) : len(first) + 1] in {(step,) for step in steps}:
            return tuple((*first, step) for step in steps)
    for words in map(str.split, SUBCOMMANDS.get(name, ())):
        if argv[1 : len(words) + 1] == tuple(words):
            return (argv[: len(words) + 1],)
    return ()


def pinned_prefix(argv: Argv) -> Argv | None:
    """The words that a prefix rule starts with which holds while the entry of the command is unchanged."""
    tool = tool_within(argv)
    if tool != argv:
        return argv[: len(argv) - len(tool) + 1] if tool[:1] and tool[0] in MODULES else None
    if argv[0] not in SCRIPT_RUNNERS:
        return None
    count = 3 if argv[1:2] == ("run",) else 2
    return argv[:count] if len(argv) >= count and argv[count - 1] in _SCRIPTS else None


def tool_within(argv: Argv) -> Argv:
    """The tool and its arguments in `python -m pytest -q` or `uv run pytest -q`; the command itself if it has none."""
    if VERSION.sub("", program(argv)) == "python" and argv[1:2] == ("-m",):
        return argv[2:]
    runner = next((words for words in RUNNERS if argv[: len(words)] == words), ())
    return argv[len(runner) :]

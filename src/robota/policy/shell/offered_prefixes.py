"""Commands for which a prefix rule (with `*` at the end) is offered: no further arguments can make them do more.

This is data. A program that is not listed may write, run or fetch something with other arguments, so only rules for the
exact command are offered; users can write any rule themselves. A prefix rule never covers what `runs_other_programs`
lists.
"""

from typing import Final

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


def prefix_to_offer(argv: Argv) -> Argv | None:
    """The words that a prefix rule for this command starts with; None if no such rule is offered."""
    name = program(argv)
    if name in PROGRAMS:
        return argv[:1]
    for words in map(str.split, SUBCOMMANDS.get(name, ())):
        if argv[1 : len(words) + 1] == tuple(words):
            return argv[: len(words) + 1]
    return None

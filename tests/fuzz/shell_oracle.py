"""A real bash that runs nothing: it only writes down which words it would have run.

There is no program to be found. Every built-in command is hidden behind a function that writes down its words, and so
is every unknown name. Redirections are real, in a directory of their own.
"""

import subprocess
from pathlib import Path

import msgspec

PRELUDE = r"""
__note() { builtin printf '%s\0' "$#" "$@" >> "$__NOTES/$BASHPID"; }
command_not_found_handle() { __note "$@"; }
for __name in $(compgen -b); do
    case $__name in builtin) ;; *) builtin eval "$__name() { __note '$__name' \"\$@\"; }" ;; esac
done
"""
SECONDS = 10
# Files for patterns to match: some look like flags, numbers or formats, or like programs with their words.
FILES = ("a.py", "b.py", "-n", "src/c.py", "src/.hidden", "in", "5", "5x", "1", "1a", "1b", "%n", "sub/5", "sub/sh")
# Links out of the workspace, with names that patterns match in surprising ways.
LINKS = ("ax", "[b]x", "^", "[^a", "éx", "sub/ax")


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The words of every command that bash came to, and the files that were not there before."""

    commands: tuple[tuple[str, ...], ...]
    created: frozenset[str]


class ShellOracle:
    """Asks bash what a command would run."""

    def __init__(self, directory: Path) -> None:
        self._top = directory
        # A file for each process: the two sides of a pipe must not write into one another's words.
        self._notes = directory / "notes"
        self._notes.mkdir()
        self._prelude = directory / "prelude.sh"
        self._prelude.write_text(PRELUDE)
        self.home = directory / "home"
        self.workspace = self.home / "workspace"
        self.workspace.mkdir(parents=True)
        for name in FILES:
            path = self.workspace / name
            path.parent.mkdir(exist_ok=True)
            path.touch()
        for name in LINKS:
            (self.workspace / name).symlink_to("/")
        self._before = self._files()

    def run(self, command: str) -> Ran:
        for old in self._notes.iterdir():
            old.unlink()
        environment = {
            "PATH": "/nowhere",
            "HOME": str(self.home),
            "BASH_ENV": str(self._prelude),
            "__NOTES": str(self._notes),
            "LANG": "C.UTF-8",
        }
        subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-c", command],
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
        created = self._files() - self._before
        for name in created:
            (self._top / name).unlink()
        notes = sorted(self._notes.iterdir(), key=lambda file: int(file.name))
        commands = tuple(command for file in notes for command in _parsed(file.read_bytes()))
        return Ran(commands=commands, created=frozenset(created))

    def _files(self) -> set[str]:
        found = (path.relative_to(self._top) for path in self._top.rglob("*") if path.is_file())
        return {str(path) for path in found if path.parts[0] != self._notes.name}


def _parsed(notes: bytes) -> tuple[tuple[str, ...], ...]:
    """Each command is its number of words and then the words."""
    fields = iter(notes.decode("utf-8", "surrogateescape").split("\0")[:-1])
    return tuple(tuple(next(fields) for _ in range(int(count))) for count in fields)

"""The one place where the gate meets policy: what runs unasked, what may be read, and which rules are suggested."""

import os
import shutil
import sys
from functools import cache, partial
from pathlib import Path
from typing import Final

import msgspec

from robota.app.policy import kept_files
from robota.contracts.tool import Effect, Touches
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.policy.decide import SessionPolicy
from robota.policy.protected.path_resolver import PathResolver
from robota.policy.rules.rule import parse_rules
from robota.policy.rules.sources import RuleSet
from robota.policy.shell.readonly_commands import COMMANDS, GIT
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.git.configured_programs import configured_programs
from robota.workspace.git.repository_safety import git_safety
from robota.workspace.process.environment import command_environment
from robota.workspace.process.git_settings import with_git_settings
from robota.workspace.shell.expansion import files_matching
from tests.fuzz.gate.trees import DENIED, Tree

DENYING: Final = f"Read({DENIED})"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the shell, the workspace it runs in and the directory there."""

    text: str
    tree: str
    cwd: str = "."


def described_options() -> dict[str, tuple[str, ...]]:
    """Every program that policy may call read-only, with the options that its description names.

    `-x=` takes a value, `-x?` may have one attached.
    """
    git = {f"git {name}": definition for name, definition in GIT.items()}
    flags = {name: definition.flags for name, definition in {**COMMANDS, **git}.items()}
    return {name: tuple(text.replace("#", "=").replace("@", "=").split()) for name, text in flags.items()}


def environment(tree: Tree) -> dict[str, str]:
    """What a command of a session in that workspace gets to see, as far as it matters."""
    return with_git_settings(command_environment(_own_environment(tree)))


def _own_environment(tree: Tree) -> dict[str, str]:
    return {"PATH": search_path(), "HOME": str(tree.home), "LANG": "C.UTF-8", "SHELL": "/bin/bash", "USER": "me"}


@cache
def search_path() -> str:
    # The development environment brings `rg` where the system has none.
    return f"/usr/bin:/bin:{Path(sys.executable).parent}"


def is_installed(program: str) -> bool:
    return shutil.which(program, path=search_path()) is not None


class TreePolicy:
    """Asks policy about commands in one workspace, as a session there does."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._git_safety = cache(partial(git_safety, tree.root))
        self._git_programs = cache(partial(configured_programs, tree.root, _own_environment(tree)))
        self._files = kept_files(tree.root)
        self._judges: dict[tuple[str, str], SessionPolicy] = {}

    def runs_unasked(self, case: Case, *, denying: bool = False) -> bool:
        """Whether it runs in plan mode without a question; `denying`: also if a rule denies reading one file."""
        judge = self._judge("", DENYING if denying else "")
        return judge.judge(_running(case, self._tree), PermissionMode.PLAN, ()).decision is Decision.ALLOW

    def runs_by(self, rule: str, case: Case) -> bool:
        """Whether it runs without a question because a user allowed that rule."""
        verdict = self._judge(rule, "").judge(_running(case, self._tree), PermissionMode.DEFAULT, ())
        return verdict.decision is Decision.ALLOW and verdict.rule == rule

    def verdict(self, case: Case) -> Verdict:
        return self._judge("", "").judge(_running(case, self._tree), PermissionMode.DEFAULT, ())

    def may_be_read(self, path: str) -> bool:
        """Whether the file tool would read it without a question."""
        touches = Touches(paths=(path,))
        subject = Subject(
            tool="read_file", label="Read", effects=frozenset({Effect.READ}), touches=touches, mode="code"
        )
        return self._judge("", "").judge(subject, PermissionMode.DEFAULT, ()).decision is Decision.ALLOW

    def _judge(self, allowing: str, denying: str) -> SessionPolicy:
        key = (allowing, denying)
        if key not in self._judges:
            allow, deny = (parse_rules([text] if text else [])[0] for text in key)
            resolver = PathResolver(
                root=self._tree.root, home=self._tree.home, real=os.path.realpath, matching=files_matching
            )
            self._judges[key] = SessionPolicy(
                rules=RuleSet(allow=allow, deny=deny),
                resolver=resolver,
                names={},
                trusted=self._tree.trusted,
                files=self._files,
                git_safety=self._git_safety,
                git_programs=self._git_programs,
            )
        return self._judges[key]


def _running(case: Case, tree: Tree) -> Subject:
    paths = () if case.cwd == "." else (str(tree.root / case.cwd),)
    touches = Touches(command=case.text, paths=paths)
    return Subject(
        tool="execute_command", label="Bash", effects=frozenset({Effect.EXECUTE}), touches=touches, mode="code"
    )

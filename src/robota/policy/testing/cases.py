"""Policy tests, stored with the rules: calls and their expected verdicts."""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from robota.config.settings.schema import Permissions
from robota.contracts.verdict import Verdict
from robota.protocol.permission_mode import PermissionMode


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A shell command, or a tool with its arguments, and the expected verdict.

    `rule` is the rule that must decide. `cwd` runs the command in another directory of the workspace. With `intent`,
    the scope of that intent applies as well.
    """

    expect: Literal["allow", "ask", "deny"]
    command: str | None = None
    tool: str | None = None
    args: dict[str, Any] = {}
    cwd: str | None = None
    intent: str | None = None
    mode: PermissionMode | None = None
    rule: str | None = None
    name: str | None = None

    @property
    def title(self) -> str:
        return self.name or self.command or f"{self.tool} {msgspec.json.encode(self.args).decode()}"


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`rules` is a settings file, relative to this file; `permissions` are inline rules instead."""

    tests: tuple[Case, ...]
    rules: str | None = None
    permissions: Permissions | None = None
    mode: PermissionMode = PermissionMode.DEFAULT


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """A test case and the actual verdict."""

    case: Case
    verdict: Verdict

    @property
    def passed(self) -> bool:
        return self.verdict.decision == self.case.expect and self.case.rule in (None, self.verdict.rule)


class CaseProblem(Exception):
    """The file is not a valid file of policy tests. The text says why."""


def read_cases(document: Any) -> CaseFile:
    """Parse the tests in a decoded file."""
    try:
        read = msgspec.convert(document, CaseFile)
    except msgspec.ValidationError as error:
        raise CaseProblem(str(error)) from error
    if not read.tests:
        raise CaseProblem("there are no tests in it")
    for number, case in enumerate(read.tests, start=1):
        if (case.command is None) == (case.tool is None):
            raise CaseProblem(f"test {number} must have either a command or a tool")
        if case.cwd is not None and case.command is None:
            raise CaseProblem(f"test {number} has a cwd, which only a command can have")
    return read


def run_cases(cases: Iterable[Case], judge: Callable[[Case], Verdict]) -> tuple[CaseResult, ...]:
    """Evaluate every case."""
    return tuple(CaseResult(case=case, verdict=judge(case)) for case in cases)

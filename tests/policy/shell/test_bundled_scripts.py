"""Scripts of skills and plugins: allowed only in a sandbox, unchanged, and where no rule or mode says otherwise."""

from pathlib import Path

import pytest

from robota.contracts.verdict import Decision
from robota.policy.decide import decide
from robota.policy.stages import PolicyContext
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.bundles import BundleMember
from tests.policy.judging import PLACES, reading, rules, running, writing

SKILL = "/home/me/.claude/skills/pdf"
RUN = f"python3 {SKILL}/fill.py form.pdf"


def bundled(location: str) -> BundleMember | None:
    if not location.startswith(f"{SKILL}/"):
        return None
    problem = "its files have changed" if "changed" in location else ""
    return BundleMember(owner="the skill pdf", root=Path(SKILL), problem=problem)


BASE = PolicyContext(mode=PermissionMode.DEFAULT, resolver=PLACES, sandboxed=True, bundled=bundled)


def changed(**more: object) -> PolicyContext:
    fields = {name: getattr(BASE, name) for name in BASE.__struct_fields__}
    return PolicyContext(**{**fields, **more})


@pytest.mark.parametrize(
    "command",
    [
        RUN,
        f"{SKILL}/fill.sh a b",
        f"bash -e {SKILL}/fill.sh",
        f"timeout 60 python3.11 -u {SKILL}/fill.py",
        "python3 ~/.claude/skills/pdf/fill.py",
        f"python3 {SKILL}/fill.py {SKILL}/template.docx out.docx",
        f"cat {SKILL}/reference.md",
        f"{RUN} && cat {SKILL}/reference.md",
    ],
)
def test_what_runs_without_a_question(command: str) -> None:
    assert decide(running(command), BASE).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        f"python3 {SKILL}/changed.py",
        f"cat {SKILL}/changed.md",
        f"python3 {SKILL}/fill.py {SKILL}/changed.txt",
        f"python3 -c 'x' {SKILL}/fill.py",
        f"python3 -i {SKILL}/fill.py",
        f"python3 -X importtime {SKILL}/fill.py",
        f"bash -c {SKILL}/fill.sh",
        f"./python3 {SKILL}/fill.py",
        f"env PYTHONPATH=. python3 {SKILL}/fill.py",
        f"uv run {SKILL}/fill.py",
        f"python3 {SKILL}/*.py",
        f"python3 {SKILL}/../other/fill.py",
        f"python3 {SKILL}/fill.py .git/config",
        f"python3 {SKILL}/fill.py ~/.bashrc",
        f"python3 {SKILL}/fill.py $(id)",
        f"{RUN} > out.txt",
        f"{RUN} && touch x",
        f"rm {SKILL}/fill.py",
        f"cp x {SKILL}/fill.py",
    ],
)
def test_what_still_needs_approval(command: str) -> None:
    assert decide(running(command), BASE).decision is not Decision.ALLOW


@pytest.mark.parametrize(
    "context",
    [
        changed(sandboxed=False),
        changed(sandbox_missing=True),
        changed(mode=PermissionMode.PLAN),
        changed(ask=rules("Bash(python3 *)")),
        changed(deny=rules("Bash(python3 *)")),
        changed(deny=rules("Read(~/.claude/**)")),
    ],
)
def test_where_nothing_of_it_runs_by_itself(context: PolicyContext) -> None:
    assert decide(running(RUN), context).decision is not Decision.ALLOW


def test_files_are_read_and_never_written() -> None:
    assert decide(reading(f"{SKILL}/reference.md"), BASE).decision is Decision.ALLOW
    assert decide(reading(f"{SKILL}/changed.md"), BASE).decision is Decision.ASK
    assert decide(reading(f"{SKILL}/.env"), BASE).decision is Decision.ASK
    assert decide(reading("/home/me/notes.md"), BASE).decision is not Decision.ALLOW
    for mode in PermissionMode:
        assert decide(writing(f"{SKILL}/fill.py"), changed(mode=mode)).decision is Decision.DENY
    denying = changed(deny=rules("Read(~/.claude/**)"))
    assert decide(reading(f"{SKILL}/reference.md"), denying).decision is Decision.DENY

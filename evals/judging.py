"""Runs a task with `robota -p` in a new repository, and judges it by its acceptance command and its log."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from evals.log_facts import LogFacts, facts_of
from evals.task import Task

ROBOTA: Final = Path(sys.executable).with_name("robota")
MAX_RUN_S: Final = 1_800
# The model may be asked to commit, on a machine where nobody has said who commits.
GIT_STEPS: Final = (
    ("init", "--quiet", "--initial-branch=main"),
    ("config", "user.name", "Evals"),
    ("config", "user.email", "evals@example.invalid"),
    ("add", "."),
    ("commit", "--quiet", "-m", "Begin"),
)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One try of a task. `failed` names what speaks against it: checks, the acceptance command, the exit code."""

    task: str
    attempt: int
    accepted: bool
    failed: tuple[str, ...]
    exit_code: int
    requests: int
    tokens_in: int
    tokens_out: int
    cached_share: float
    tool_errors: dict[str, int]
    failed_edits: int
    retried_denials: int
    claims_untested: bool


def attempt(task: Task, options: tuple[str, ...], number: int = 1, env: Mapping[str, str] | None = None) -> Verdict:
    """Let a model try the task in a directory of its own, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"evals-{task.name}-", ignore_cleanup_errors=True) as directory:
        repository = Path(directory, "repository")
        build(task, repository)
        code = _run([str(ROBOTA), "-p", task.prompt, *task.launch, *options], repository, env or os.environ)
        log = max((repository / ".robota/sessions").glob("*/log.jsonl"), default=None)
        return judge(task, repository, LogFacts() if log is None else facts_of(log), code, number)


def build(task: Task, repository: Path) -> None:
    """Write and commit the files of a task."""
    _write(repository, {".gitignore": "__pycache__/\n", **task.files})
    for arguments in GIT_STEPS:
        subprocess.run(["git", *arguments], cwd=repository, check=True)
    _write(repository, task.uncommitted)


def judge(task: Task, repository: Path, facts: LogFacts, exit_code: int = 0, number: int = 1) -> Verdict:
    """What became of a try."""
    failed = [check.says for check in task.checks if not check.holds(facts)]
    if _run(["bash", "-c", task.acceptance], repository, os.environ) != 0:
        failed.append("acceptance command")
    if exit_code != 0:
        failed.append(f"exit code {exit_code}")
    return Verdict(
        task=task.name,
        attempt=number,
        accepted=not failed,
        failed=tuple(failed),
        exit_code=exit_code,
        requests=facts.requests,
        tokens_in=facts.tokens_in,
        tokens_out=facts.tokens_out,
        cached_share=round(facts.cached_share, 3),
        tool_errors=facts.tool_errors,
        failed_edits=facts.failed_edits,
        retried_denials=facts.retried_denials,
        claims_untested=facts.claims_untested,
    )


def table(verdicts: list[Verdict]) -> str:
    """A row for each try, and how many were accepted."""
    rows = ["task                    ok  requests  tokens  cached  errors  edits  retried  untested  failed"]
    rows += [
        f"{each.task:<22} {'yes' if each.accepted else 'NO':>3} {each.requests:>9}"
        f" {each.tokens_in + each.tokens_out:>7} {each.cached_share:>7.0%} {sum(each.tool_errors.values()):>7}"
        f" {each.failed_edits:>6} {each.retried_denials:>8} {'yes' if each.claims_untested else '-':>9}"
        f"  {'; '.join(each.failed)}".rstrip()
        for each in verdicts
    ]
    return "\n".join([*rows, f"{sum(each.accepted for each in verdicts)} of {len(verdicts)} accepted"])


def _write(repository: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _run(command: list[str], cwd: Path, env: Mapping[str, str]) -> int:
    """The exit code; 124 for a command that did not end in time. What it complains about is shown."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=env,
            timeout=MAX_RUN_S,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return 124
    return done.returncode

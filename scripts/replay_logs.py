"""Runs every session again that lies below a directory, such as one that tests have left, and counts what comes of it.

.venv/bin/python -m pytest tests/engine --basetemp=/tmp/logs -o tmp_path_retention_policy=all
.venv/bin/python -m scripts.replay_logs /tmp/logs
"""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from robota.app.replaying import replay_session
from robota.log.errors import LogError
from robota.proof.replay.recording import NotReplayable
from robota.proof.replay.replaying import ReplayOptions


def main() -> int:
    """Name each session that differs or cannot be compared to its end; 1 if one differs."""
    counts: Counter[str] = Counter()
    for directory in _sessions(Path(sys.argv[1])):
        outcome, details = _outcome(directory)
        counts[outcome] += 1
        if details:
            sys.stdout.write(f"{directory}\n  {details}\n")
    for outcome, count in counts.most_common():
        sys.stdout.write(f"{count:6} {outcome}\n")
    return 1 if counts["different"] else 0


def _sessions(below: Path) -> Iterator[Path]:
    for log in sorted(below.rglob(".robota/sessions/*/log.jsonl")):
        if not any(each.is_symlink() for each in log.parents):
            yield log.parent


def _outcome(directory: Path) -> tuple[str, str]:
    root = directory.parents[2]
    # Where the tests keep what a user's directory would hold.
    homes = (root.parent / "robota-home", root.parent / "home" / ".robota")
    home = next((each for each in homes if each.is_dir()), homes[0])
    env = {"ROBOTA_HOME": str(home), "PATH": os.environ["PATH"], "HOME": str(root.parent)}
    try:
        report = asyncio.run(replay_session(ReplayOptions(directory=directory, root=root, is_own=True), env))
    except (NotReplayable, LogError) as error:
        return f"not run: {error}", ""
    if report.not_compared is not None:
        return "not comparable to its end", f"from request {report.not_compared.request} on: {report.not_compared.why}"
    if report.divergence is not None:
        return "different", report.divergence.text.replace("\n", "\n  ")
    return "identical", ""


if __name__ == "__main__":
    sys.exit(main())

"""`make evals PROFILE=name`: let a real model try the tasks, and show how it did."""

import argparse
import sys
from pathlib import Path

import msgspec

from evals.judging import attempt, table
from evals.tasks import commands, editing, limits, long_tasks, repositories, working

TASKS = (*working.TASKS, *repositories.TASKS, *limits.TASKS, *editing.TASKS, *commands.TASKS, *long_tasks.TASKS)


def main() -> int:
    """0 if every try was accepted."""
    known = {task.name: task for task in TASKS}
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"default: all of {' '.join(known)}")
    parser.add_argument("--profile", required=True, help="a provider profile of your settings")
    parser.add_argument("--model", help="a model instead of the profile's")
    parser.add_argument("--tries", type=int, default=3, help="tries of each task (default: 3)")
    parser.add_argument("--json", type=Path, help="append a line of JSON for each try to this file")
    options = parser.parse_args()
    if not options.profile:
        parser.error("Name a provider profile of your settings: make evals PROFILE=name")
    if unknown := [name for name in options.tasks if name not in known]:
        parser.error(f"There is no task {', '.join(unknown)}. Choose from: {' '.join(known)}")
    model = ("--provider", options.profile, *(("--model", options.model) if options.model else ()))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
    verdicts = []
    for name in options.tasks or known:
        for number in range(1, options.tries + 1):
            verdicts.append(attempt(known[name], model, number))
            if not any(each.requests for each in verdicts) and verdicts[-1].exit_code:
                parser.error(f"robota ended with {verdicts[-1].exit_code} and asked no model, for the reason above.")
            print(f"{name} {number}: {'accepted' if verdicts[-1].accepted else 'failed'}", file=sys.stderr)
            if options.json:
                with options.json.open("ab") as lines:
                    lines.write(msgspec.json.encode(verdicts[-1]) + b"\n")
    print(table(verdicts))
    return 0 if all(each.accepted for each in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Kills one command at each of its points, and reports what the next start leaves of it.

`python every_point.py ORIGINAL COPY ARGUMENT…`: ORIGINAL has `home` and `workspace`; for each point they are copied to
COPY, the command dies there, and the files that are there after the next start are compared with those before the
command and with those after a whole one. Forks of one process do the work. It imports what the whole command imported,
because imports take most of the time.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import count
from pathlib import Path

from robota.app.extensions import remove_staging_of_killed
from robota.cli.main import main as robota
from robota.log.leftovers import remove_leftovers_of_killed
from tests.fuzz.kill.dying import Points

TIMES = re.compile(rb'("(?:installedMs|givenMs|updatedMs)": ?)\d+')
# Copies of what was there before, and notes that mean nothing without the entry they are about.
HARMLESS = re.compile(r".*\.bak|.*/written-here|.*/\.gitignore|.*\.git/.*")
MODULES = "modules"  # the file in which a whole command leaves what it imported


def main() -> None:
    original, copy, *arguments = sys.argv[1:]
    place = Path(copy)
    os.environ.update({"HOME": f"{place}/home", "ROBOTA_HOME": f"{place}/home/.robota"})
    renew(original, place)
    before = files_of(place)
    assert in_a_fork(lambda: run(place, arguments, 0)) == 0, "the command does not work"
    after = files_of(place)
    for name in (place / MODULES).read_text().split():
        import_module(name)
    found = []
    for point in count(1):
        renew(original, place)
        if in_a_fork(lambda: run(place, arguments, point)) == 0:  # noqa: B023 - it is called at once
            break
        what = json.loads((place / "note").read_text())[1]
        assert in_a_fork(lambda: start(place)) == 0
        left = files_of(place)
        if left not in (before, after):
            closest = min((before, after), key=lambda each: len(differing(left, each)))
            found.append([point, what, differing(left, closest)])
    print(json.dumps({"points": point - 1, "changes": before != after, "halves": found}))


def renew(original: str, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(original, place, symlinks=True)


def run(place: Path, arguments: list[str], point: int) -> None:
    """The command, which is killed at the point."""
    os.chdir(place / "workspace")
    note = os.open(place / "note", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    points = Points(note, point)
    points.put_in_place()
    code = robota(arguments)
    points.leave_note()
    if point == 0:
        (place / MODULES).write_text("\n".join(name for name in sys.modules if name.startswith("robota.")))
    assert code == 0, code


def start(place: Path) -> None:
    """What the start of a session does before anything else."""
    remove_leftovers_of_killed(place / "workspace", place / "workspace", os.environ)
    remove_staging_of_killed(os.environ)


def in_a_fork(work: Callable[[], None]) -> int:
    """The exit status of `work` in a process of its own."""
    pid = os.fork()
    if pid == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - nothing of the parent may run in the fork
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def files_of(place: Path) -> dict[str, str]:
    """The content of every file, without times and without what is harmless."""
    return {
        name: TIMES.sub(rb"\1", path.read_bytes()).decode("utf-8", "replace")
        for path in sorted(place.rglob("*"))
        if path.is_file() and path not in (place / "note", place / MODULES)
        if not HARMLESS.fullmatch(name := str(path.relative_to(place)))
    }


def differing(left: dict[str, str], right: dict[str, str]) -> list[str]:
    return sorted(name for name in {*left, *right} if left.get(name) != right.get(name))


if __name__ == "__main__":
    main()

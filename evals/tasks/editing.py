"""Tasks about edits: large files, repeated text, tabs, many files, a path that is wrong."""

from typing import Final

from evals.task import Task, answer_has, asserts

HUGE: Final = "".join(f"setting_{number} = {number % 97}\n" for number in range(20_000))
SHAPES: Final = "".join(
    f"class {name}:\n    def sides(self):\n        return 3\n\n\n" for name in ("Triangle", "Square", "Arrow")
)
TABBED: Final = "def area(width, height):\n\tif width < 0:\n\t\treturn 0\n\treturn width * height\n"
CALLERS: Final = {
    f"reports/report{number}.py": f"from store import fetch_rows\n\n\ndef report():\n    return fetch_rows({number})\n"
    for number in range(11)
}
DATES: Final = "def is_leap(year):\n    return year % 4 == 0\n"

TASKS: Final = (
    Task(
        name="huge-file",
        files={"settings.py": HUGE},
        prompt="Set setting_15000 in settings.py to 5.",
        acceptance='test "$(git diff --numstat | cut -f 1,2)" = "$(printf \'1\\t1\')" && '
        + asserts("import settings; assert settings.setting_15000 == 5"),
    ),
    Task(
        name="ambiguous-edit",
        files={"shapes.py": SHAPES},
        prompt="A Square in shapes.py should have 4 sides.",
        acceptance=asserts(
            "from shapes import *; assert [s().sides() for s in (Triangle, Square, Arrow)] == [3, 4, 3]"
        ),
    ),
    Task(
        name="tabs",
        files={"area.py": TABBED},
        prompt="Let area() in area.py also return 0 if the height is negative.",
        acceptance="! grep -q '^ ' area.py && "
        + asserts("from area import area; assert [area(2, 3), area(2, -3), area(-2, 3), area(-2, -3)] == [6, 0, 0, 0]"),
    ),
    Task(
        name="rename-in-12-files",
        files={"store.py": "def fetch_rows(number):\n    return [number]\n", "reports/__init__.py": "", **CALLERS},
        prompt="Rename fetch_rows to load_rows everywhere.",
        acceptance="! git grep -q fetch_rows && test $(git diff --name-only | wc -l) = 12 && "
        + asserts("from reports import report7; assert report7.report() == [7]"),
    ),
    Task(
        name="wrong-path",
        files={"lib/dates.py": DATES, "lib/__init__.py": ""},
        prompt="is_leap in src/util/dates.py says that 1900 was a leap year. Fix it.",
        acceptance="! test -e src && "
        + asserts("from lib.dates import is_leap as l; assert [l(1900), l(2000), l(2023), l(2024)] == [0, 1, 0, 1]"),
        checks=(answer_has(r"lib/dates\.py"),),
    ),
)

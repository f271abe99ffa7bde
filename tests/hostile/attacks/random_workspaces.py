"""Workspaces that nobody would make on purpose, by chance: what an attacker could put into an archive."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.hostile.attacks.ground import Ground

ODD_NAMES: Final = (
    *(
        "a\nb",
        "-rf",
        "--",
        " ",
        "*",
        "$(touch x)",
        "'",
        '"',
        "\\",
        "~",
        "#",
        "\x1b[2J",
        "x" * 255,
        "\u202e",
        "%s",
        "=x",
    ),
    os.fsdecode(b"\xff\xfe"),
    os.fsdecode(b"half \xe2\x82"),
)
MAX_TRAPS: Final = 14

Trap = Callable[[Ground, random.Random, Path], None]


def plant_at_random(ground: Ground, chance: random.Random) -> list[str]:
    """Put traps into the workspace; returns names in it for commands to use, relative to its root."""
    places = [ground.workspace]
    for number in range(chance.randint(1, 4)):
        place = chance.choice(places) / chance.choice((f"d{number}", *ODD_NAMES))
        place.mkdir(exist_ok=True)
        places.append(place)
    before = set(_names(ground.workspace))
    for _ in range(chance.randint(4, MAX_TRAPS)):
        chance.choice(TRAPS)(ground, chance, chance.choice(places))
    return sorted(set(_names(ground.workspace)) - before)


def _links_outside(ground: Ground, chance: random.Random, place: Path) -> None:
    home = ground.home
    targets = (ground.outside, ground.outside / "precious.txt", home, home / ".netrc", home / ".ssh")
    _link(place / f"link{chance.randrange(100)}", str(chance.choice(targets)))


def _links_that_dangle_or_circle(ground: Ground, chance: random.Random, place: Path) -> None:
    name = f"loop{chance.randrange(100)}"
    targets = (str(ground.outside / "appears"), name, "/proc/self/root", "/proc/self/cwd/..", "..", "/dev/fd/0")
    _link(place / name, chance.choice(targets))


def _links_in_place_of_protected_names(ground: Ground, chance: random.Random, place: Path) -> None:
    """Not at the root, where the names are taken: deeper, where a program that enters the directory obeys them."""
    if place != ground.workspace:
        _link(place / chance.choice(("AGENTS.md", ".git", ".envrc", "CLAUDE.md")), str(ground.outside / "precious.txt"))


def _odd_names(_: Ground, chance: random.Random, place: Path) -> None:
    name = place / chance.choice(ODD_NAMES)
    if not os.path.lexists(name):
        name.write_text("odd\n")


def _decoys(_: Ground, chance: random.Random, place: Path) -> None:
    for number in range(chance.choice((3, 70, 300))):
        (place / f"{number}.code-workspace").write_text("{}")


def _nested_repositories(ground: Ground, chance: random.Random, place: Path) -> None:
    where = place / f"nested{chance.randrange(100)}"
    if not where.exists():
        shutil.copytree(ground.workspace / "vendor/lib/.git", where / ".git", symlinks=True)


def _files_that_point_to_a_repository(ground: Ground, chance: random.Random, place: Path) -> None:
    where = place / f"module{chance.randrange(100)}"
    where.mkdir(exist_ok=True)
    target = chance.choice((ground.outside, ground.workspace / ".git", ground.workspace / "vendor/lib/.git"))
    (where / ".git").write_text(f"gitdir: {target}\n")


def _pipes(_: Ground, chance: random.Random, place: Path) -> None:
    where = place / f"pipes{chance.randrange(1000)}"
    if not where.exists():
        where.mkdir()
        os.mkfifo(where / "pipe")


def _hard_links(ground: Ground, chance: random.Random, place: Path) -> None:
    name = place / f"hard{chance.randrange(1000)}"
    if not name.exists():
        name.hardlink_to(ground.workspace / "src/main.py")


def _closed_directories(_: Ground, chance: random.Random, place: Path) -> None:
    where = place / f"closed{chance.randrange(1000)}"
    where.mkdir(exist_ok=True)
    where.chmod(0o555)


def _links_in_gits_data(ground: Ground, chance: random.Random, _: Path) -> None:
    name = chance.choice(("lfs", "logs/refs/heads/more", "refs/heads/more", "rr-cache", "description", "objects/aa"))
    target = chance.choice((ground.home / ".ssh", ground.outside, ground.outside / "precious.txt"))
    link = ground.workspace / ".git" / name
    if not os.path.lexists(link):
        link.symlink_to(target)


TRAPS: Final[tuple[Trap, ...]] = (
    _links_outside,
    _links_that_dangle_or_circle,
    _links_in_place_of_protected_names,
    _odd_names,
    _decoys,
    _nested_repositories,
    _files_that_point_to_a_repository,
    _pipes,
    _hard_links,
    _closed_directories,
    _links_in_gits_data,
)


def _link(name: Path, target: str) -> None:
    if not os.path.lexists(name):
        name.symlink_to(target)


def _names(root: Path) -> list[str]:
    """Everything below the root but git's own data and pipes, at which a command would wait."""
    found = []
    for parent, directories, files in os.walk(root):
        directories[:] = [name for name in directories if name != ".git"]
        found += [Path(parent, name) for name in (*directories, *files)]
    return [str(path.relative_to(root)) for path in found if not path.is_fifo()]

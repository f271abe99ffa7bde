"""The environments that attacks are tried in: which sandbox there is, and who the user is."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from tests.harness.cli import EXECUTABLE, Finished, Robota, clean_environment, run
from tests.workspace.sandbox.cells import landlock_abi

ORDINARY_UID: Final = 54321
PROJECT: Final = Path(__file__).parents[3]
# What attacks use. A PATH with these and without bubblewrap leaves Landlock.
PROGRAMS: Final = (
    "bash sh cat chmod cp env find git grep head ln ls mkdir mkfifo mv printf python3 rm rmdir sed setsid tar tee "
    "touch true truncate"
)
MAIN: Final = "from robota.cli.main import entry; raise SystemExit(entry())"


class Environment(Enum):
    """Who runs the commands, and what confines them."""

    BUBBLEWRAP = "in bubblewrap"
    LANDLOCK = "in Landlock"
    ORDINARY_USER = "as an ordinary user"
    UNCONFINED = "without a sandbox"

    @property
    def has_namespaces(self) -> bool:
        """Whether single names of the workspace are protected."""
        return self in (Environment.BUBBLEWRAP, Environment.ORDINARY_USER)

    @property
    def is_confined(self) -> bool:
        return self is not Environment.UNCONFINED


def missing(environment: Environment) -> str | None:
    """Why attacks cannot be tried there on this machine; None if they can."""
    if environment.has_namespaces and (problem := _bubblewrap_problem()) is not None:
        return problem
    if environment is Environment.LANDLOCK and landlock_abi() < 1:
        return "this kernel has no Landlock"
    if environment is Environment.ORDINARY_USER:
        if os.geteuid() != 0:
            return "already an ordinary user, so that the attacks in bubblewrap are these"
        if shutil.which("setpriv") is None:
            return "setpriv is not installed"
        if _python_for_everybody() is None:
            return "an ordinary user can run no Python that has Robota's libraries"
        if _bubblewrap_problem(*_becoming()) is not None:
            return "bubblewrap does not work for ordinary users here"
    return None


def run_robota(
    environment: Environment,
    workspace: Path,
    home: Path,
    arguments: tuple[str, ...],
    extra: Mapping[str, str],
    before: tuple[str, ...] = (),
) -> Finished:
    """The command `robota` in that environment, as a process of its own; `before` are words before its command line."""
    match environment:
        case Environment.BUBBLEWRAP | Environment.UNCONFINED | Environment.LANDLOCK:
            path = {"PATH": str(_path_of_links(home.parent))} if environment is Environment.LANDLOCK else {}
            variables = {**path, **extra}
            if not before:
                return Robota(workspace, home)(*arguments, env=variables)
            return run([*before, str(EXECUTABLE), *arguments], workspace, {**clean_environment(home), **variables}, "")
        case Environment.ORDINARY_USER:
            python = _python_for_everybody()
            assert python is not None
            libraries = [*_libraries(), clean_environment(home)["PYTHONPATH"]]
            variables = {
                **clean_environment(home),
                "PATH": os.defpath,
                "PYTHONPATH": os.pathsep.join(libraries),
                **extra,
            }
            return run([*before, *_becoming(), python, "-c", MAIN, *arguments], workspace, variables, "")


def give_to_user(environment: Environment, base: Path) -> None:
    """Make all below the directory belong to whoever runs the commands, so that only the sandbox is in the way."""
    if environment is Environment.ORDINARY_USER:
        for place in (base, *_all_below(base)):
            os.lchown(place, ORDINARY_UID, ORDINARY_UID)


def _all_below(base: Path) -> Iterator[Path]:
    for parent, directories, files in os.walk(base):
        yield from (Path(parent, name) for name in (*directories, *files))


def _path_of_links(base: Path) -> Path:
    programs = base / "programs"
    if not programs.exists():
        programs.mkdir()
        for name in PROGRAMS.split():
            found = shutil.which(name, path=os.defpath) or shutil.which(name)
            if found is not None:
                (programs / name).symlink_to(found)
    return programs


def _becoming() -> tuple[str, ...]:
    """The program is looked up by `env`: setpriv still has root's capabilities when it executes it."""
    ids = (f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}")
    return ("setpriv", *ids, "--clear-groups", "--no-new-privs", "env")


@cache
def _bubblewrap_problem(*before: str) -> str | None:
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    probe = [*before, "bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"bubblewrap does not work here: {done.stderr.strip()}"


@cache
def _python_for_everybody() -> str | None:
    """An interpreter that an ordinary user can run with Robota and its libraries; root's may be in root's home."""
    name = f"python3.{sys.version_info.minor}"
    candidates = (os.path.realpath(sys.executable), shutil.which(name, path=os.defpath))
    for python in candidates:
        variables = {"PYTHONPATH": os.pathsep.join(_libraries()), "PATH": os.defpath}
        words = [*_becoming(), str(python), "-c", "import robota.cli.main, msgspec, tree_sitter, httpx2"]
        if python and subprocess.run(words, env=variables, capture_output=True, check=False).returncode == 0:
            return python
    return None


def _libraries() -> list[str]:
    return [str(PROJECT / "src"), *(place for place in sys.path if place.endswith("site-packages"))]

"""What a stranger has: the wheel, installed with pip into an environment of its own."""

import fcntl
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with its programs. One environment serves all workers of a run."""
    own = tmp_path_factory.getbasetemp()
    place = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "stranger"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "done").exists():
            _install(place / "env", _wheel(place))
            (place / "done").touch()
    return place / "env" / "bin"


def _wheel(place: Path) -> Path:
    """Built from the files as they are here, so that pages and program of one state are tried together."""
    building = f"from hatchling.build import build_wheel; print(build_wheel({str(place)!r}))"
    done = subprocess.run([sys.executable, "-c", building], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place / done.stdout.strip()


def _install(environment: Path, wheel: Path) -> None:
    """With pip and without a network, so the packages that it needs are lent to it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(environment / "bin/python")]
    install = [*pip, "install", "-q", "--no-index", "--no-deps", "--no-compile", str(wheel)]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_paths()["platlib"] + "\n")

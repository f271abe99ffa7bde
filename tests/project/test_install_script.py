"""The one line that installs: an environment of its own, and never half of one."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def install(home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment = {**kept, "HOME": str(home), "PYTHON": sys.executable, **variables}
    return subprocess.run([ROOT / "scripts/install"], env=environment, capture_output=True, text=True, check=False)


def test_one_line_installs_and_again_updates(tmp_path: Path) -> None:
    versions, program = tmp_path / ".local/share/robota", tmp_path / ".local/bin/robota"
    for expected in (1, 2, 2):  # the version before is kept for the sessions that use it
        done = install(tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(list(versions.iterdir())) == expected
    assert "robota demo" in done.stdout and "PATH" in done.stdout
    told = subprocess.run([program, "update"], env={"HOME": str(tmp_path), "PATH": os.defpath}, capture_output=True)
    assert f"{ROOT}/scripts/install" in told.stdout.decode() + told.stderr.decode()


def test_where_packages_cannot_be_had_the_old_version_stays(tmp_path: Path) -> None:
    program = tmp_path / ".local/bin/robota"
    program.parent.mkdir(parents=True)
    program.symlink_to("/old/robota")
    done = install(tmp_path, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_NO_CACHE_DIR="1", PIP_RETRIES="0")
    assert done.returncode == 1 and "What was installed before is unchanged." in done.stderr
    assert program.readlink() == Path("/old/robota") and not list((tmp_path / ".local/share/robota").iterdir())


def test_a_file_of_the_user_is_not_replaced(tmp_path: Path) -> None:
    program = tmp_path / ".local/bin/robota"
    program.parent.mkdir(parents=True)
    program.write_text("mine")
    done = install(tmp_path)
    assert done.returncode == 1 and "Nothing was installed" in done.stderr and program.read_text() == "mine"

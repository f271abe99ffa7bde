"""A home that is mounted at a second place is hidden there, too."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.programs import needs

RUN_IN_SANDBOX = """
import sys
from pathlib import Path
from robota.workspace.sandbox.backend import SandboxKind
from tests.workspace.sandbox.cells import Cell
cell = Cell(SandboxKind(sys.argv[1]), Path(sys.argv[2]))
print(cell.run(f"cat '{sys.argv[3]}' 2>&1").stdout)
"""


@pytest.fixture
def base() -> Iterator[Path]:
    """Not in /tmp, which is private inside."""
    with tempfile.TemporaryDirectory(prefix="robota-", dir="/var/tmp") as base:
        yield Path(base).resolve()


@needs("unshare", "mount")
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("mounted", ["base/home", "base"], ids=["itself", "with its neighbours"])
def test_a_home_is_hidden_wherever_it_is_mounted(base: Path, kind: str, mounted: str) -> None:
    for name in ("base/home", "a second place"):
        (base / name).mkdir(parents=True)
    second = base / "a second place" / Path("base/home").relative_to(mounted) / ".netrc"
    (base / "run.py").write_text(RUN_IN_SANDBOX)
    inside = f'mount --bind "{base / mounted}" "{base}/a second place" && exec "$@"'
    words = [sys.executable, str(base / "run.py"), kind, str(base / "base"), str(second)]
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inside, "sh", *words],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
    )
    if "unshare" in done.stderr:
        pytest.skip(f"no namespace can be made here: {done.stderr}")
    assert "secret" not in done.stdout, done.stdout
    assert str(second) in done.stdout, done.stderr

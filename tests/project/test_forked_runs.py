"""The runs of `robota` in tests are forks of a Python that has imported much; they behave like runs of a new one."""

import json
import os
import sys
from pathlib import Path

from tests.harness.cli import Robota, clean_environment, run
from tests.harness.interpreter_server import MODULES

ROOT = Path(__file__).parents[2]
IMPORT = """
import json, sys
from tests.harness.interpreter_server import import_without_environment
import_without_environment(sys.argv[1:])
print(json.dumps([name in sys.modules for name in sys.argv[1:]]))
"""


def imported(names: tuple[str, ...], directory: Path) -> dict[str, bool]:
    """Which of these modules are there after the server has imported all that it may."""
    env = {**clean_environment(directory), "PYTHONPATH": os.pathsep.join((str(ROOT), str(directory)))}
    done = run([sys.executable, "-c", IMPORT, *names], directory, env, "")
    assert done.code == 0, done.stderr
    return dict(zip(names, json.loads(done.stdout), strict=True))


def test_every_module_that_is_imported_before_the_fork_exists(tmp_path: Path) -> None:
    """Otherwise the tests would become slower, and nobody would notice."""
    assert [name for name, is_there in imported(MODULES, tmp_path).items() if not is_there] == []


def test_a_module_that_reads_the_environment_is_imported_after_the_fork(tmp_path: Path) -> None:
    reads = {
        "gets": 'import os\nHOME = os.environ.get("HOME")\n',
        "takes": 'import os\nHOME = os.environ["HOME"]\n',
        "asks": 'import os\nHAS_HOME = "HOME" in os.environ\n',
        "calls": 'import os\nHOME = os.getenv("HOME")\n',
        "copies": "import os\nALL = dict(os.environ)\n",
        "depends": "import takes\n",
    }
    for name, text in {**reads, "reads_later": "import os\ndef home(): return os.environ['HOME']\n"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    names = (*reads, "reads_later")
    assert imported(names, tmp_path) == {**dict.fromkeys(reads, False), "reads_later": True}


def test_a_run_has_the_environment_and_the_directory_of_the_test(robota: Robota) -> None:
    """Both differ from those of the Python that was forked."""
    path = robota("config", "path", env={"ROBOTA_HOME": str(robota.home / "elsewhere")})
    assert str(robota.home / "elsewhere") in path.stdout + path.stderr

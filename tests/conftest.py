"""What every test may ask for, and the rule that no test leaves this machine."""

import gc
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Importing it puts the guard in force for this process; children get it through `clean_environment`.
import tests.harness.network_guard.sitecustomize  # noqa: F401
from tests.harness.cli import Robota, clean_environment

# No test is judged by the clock: a busy machine must not make one fail. And a commit passes or fails in the same way
# everywhere; HYPOTHESIS_PROFILE=search looks for what nobody has seen yet.
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", SETTINGS)
settings.register_profile("repeatable", SETTINGS, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


# A shell starts jobs in the background with Ctrl+C ignored, and everything that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)


# `make slow` runs these, `make unit` the others: attacks, programs that are killed or starved, terminals, servers of
# other projects, and what is built or installed. They are a twelfth of the tests and take a third of the time.
SLOW_TESTS = (
    "agents/worktrees/test_command.py",
    "cli/run/test_machine_limits.py",
    "cli/run/test_screen_",
    "cli/test_rough_treatment.py",
    "clients/control/test_kills.py",
    "clients/control/test_recorded_lines.py",
    "commands/mcp/",
    "commands/test_killed_changes.py",
    "engine/task/agents/test_killed_agents.py",
    "evals/",
    "extensions/mcp/",
    "hostile/",
    "intents/test_attacker.py",
    "intents/test_killed_sessions.py",
    "project/test_install_script.py",
    "project/test_packaging.py",
    "project/test_pages_run.py",
    "serving/web/test_browser_",
    "workspace/language_servers/",
    "workspace/process/test_leaks.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests."""
    tests = Path(__file__).parent
    for item in items:
        if str(item.path.relative_to(tests)).startswith(SLOW_TESTS):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Thousands of tests and what they import stay to the end: the collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home directory, for this process and for the ones it starts."""
    directory = tmp_path / "home"
    directory.mkdir()
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("ROBOTA_HOME", str(directory / ".robota"))
    return directory


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty git repository to work in."""
    directory = tmp_path / "workspace"
    directory.mkdir()
    env = {**clean_environment(tmp_path), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=directory, env=env, check=True)
    with (directory / ".git/config").open("a") as config:
        config.write("[user]\n\tname = Test\n\temail = test@example.invalid\n")
    return directory


@pytest.fixture
def robota(workspace: Path, home: Path) -> Robota:
    return Robota(workspace, home)

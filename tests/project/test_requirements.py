"""The lock files: each names everything that its packages need, or `make run` could not install it."""

import json
import os
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements"
PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==", re.MULTILINE)


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt"])
def test_what_a_locked_package_needs_is_locked_too(lock: str) -> None:
    """pip refuses the whole file otherwise: with hashes nothing may be found on the way."""
    names = {canonicalize_name(name) for name in PINNED.findall((REQUIREMENTS / lock).read_text())}
    assert len(names) > 10
    missing = {f"{name} needs {needed}" for name in names for needed in _needs(name) - names}
    assert missing == set()


def _needs(name: str) -> set[str]:
    try:
        lines = requires(name) or []
    except PackageNotFoundError:  # for another system than this one
        return set()
    parsed = map(Requirement, lines)
    here = [need for need in parsed if need.marker is None or need.marker.evaluate({"extra": ""})]
    return {canonicalize_name(need.name) for need in here}


def test_every_npm_package_is_pinned_by_its_content_and_by_no_address() -> None:
    lock = json.loads((REQUIREMENTS / "mcp-servers/package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert len(packages) > 10
    assert [name for name, package in packages.items() if not package["integrity"].startswith("sha512-")] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with only what installs the servers, and an `npm` that does as NPM_DOES says."""
    shutil.copytree(REQUIREMENTS / "mcp-servers", tmp_path / "requirements/mcp-servers")
    programs = tmp_path / "bin"
    for directory in ("scripts", ".venv", "bin"):
        (tmp_path / directory).mkdir()
    shutil.copy(ROOT / "scripts/mcp-servers", tmp_path / "scripts")
    for name, text in {"npm": 'echo called >> calls; eval "$NPM_DOES"', "node": ""}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    return tmp_path


def _install_servers(checkout: Path, npm_does: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": f"{checkout / 'bin'}:{os.environ['PATH']}", "NPM_DOES": npm_does, "NPM_SECONDS": "0.2"}
    command = [checkout / "scripts/mcp-servers"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("npm_does", ["echo no network >&2; exit 1", "exec sleep 60"])
def test_servers_that_npm_cannot_install_are_told_in_one_line_and_leave_nothing(checkout: Path, npm_does: str) -> None:
    if shutil.which("timeout") is None:
        pytest.skip("timeout is not installed")
    done = _install_servers(checkout, npm_does)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and ".venv/mcp-servers.log" in done.stderr
    assert [path.name for path in (checkout / ".venv").iterdir()] == ["mcp-servers.log"]


def test_servers_are_installed_once_and_again_when_a_pin_changed(checkout: Path) -> None:
    for _ in range(2):
        assert _install_servers(checkout, "").returncode == 0
    assert (checkout / "calls").read_text() == "called\n"
    (checkout / "requirements/mcp-servers/package-lock.json").write_text("{}")
    assert _install_servers(checkout, "").returncode == 0
    assert (checkout / "calls").read_text() == "called\n" * 2

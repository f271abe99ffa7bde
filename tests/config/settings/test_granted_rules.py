"""Rules that a user allowed for good: kept beside one another, and without making the workspace a stranger."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from robota.config.paths import user_directory
from robota.config.settings.granted_rules import keep_rules
from robota.config.trust.decision import TrustState, remember, trust_of
from robota.config.trust.sources import take_snapshot

LOCAL = ".robota/settings.local.json"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "ROBOTA_HOME": str(tmp_path / "home")}


def workspace_at(root: Path) -> Path:
    (root / ".robota").mkdir(parents=True)
    (root / ".robota/settings.json").write_text("{}")
    return root


def saved_rules(root: Path) -> list[str]:
    rules: list[str] = json.loads((root / LOCAL).read_text())["permissions"]["allow"]
    return rules


def test_a_trusted_workspace_stays_trusted(tmp_path: Path, env: dict[str, str]) -> None:
    root = workspace_at(tmp_path / "work")
    remember("yes", take_snapshot(root), env, 1)
    assert keep_rules("project", ["Bash(make)"], root, env) == ""
    assert trust_of(take_snapshot(root), env).state is TrustState.TRUSTED


def test_one_that_changed_is_not_trusted_by_the_way(tmp_path: Path, env: dict[str, str]) -> None:
    root = workspace_at(tmp_path / "work")
    remember("yes", take_snapshot(root), env, 1)
    (root / ".mcp.json").write_text("{}")
    assert keep_rules("project", ["Bash(make)"], root, env) == ""
    assert saved_rules(root) == ["Bash(make)"]
    assert trust_of(take_snapshot(root), env).state is TrustState.CHANGED


def test_several_sessions_that_keep_rules_at_once(tmp_path: Path, env: dict[str, str]) -> None:
    together = threading.Barrier(3)
    with ThreadPoolExecutor(3) as sessions:
        for number in range(60):
            root = workspace_at(tmp_path / str(number))
            remember("yes", take_snapshot(root), env, 1)

            def keep(rule: str, root: Path = root) -> str:
                together.wait()
                return keep_rules("project", [rule], root, env)

            assert list(sessions.map(keep, ["Bash(a)", "Bash(b)", "Bash(c)"])) == ["", "", ""]
            assert sorted(saved_rules(root)) == ["Bash(a)", "Bash(b)", "Bash(c)"]
            assert trust_of(take_snapshot(root), env).state is TrustState.TRUSTED


def test_rules_that_cannot_be_kept_are_said(tmp_path: Path, env: dict[str, str]) -> None:
    root = workspace_at(tmp_path / "work")
    (root / LOCAL).write_text("not json")
    assert "apply to this session but were not saved" in keep_rules("project", ["Bash(make)"], root, env)
    assert (root / LOCAL).read_text() == "not json"


@pytest.mark.parametrize("link", [".robota", ".robota/settings.local.json"])
def test_a_link_that_a_repository_brings_is_not_written_through(tmp_path: Path, env: dict[str, str], link: str) -> None:
    own = user_directory(env)
    own.mkdir(parents=True, exist_ok=True)
    (own / "settings.local.json").write_text("{}")
    root = tmp_path / "clone"
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(own if link == ".robota" else own / "settings.local.json")
    assert "were not saved" in keep_rules("project", ["Bash(npm test)"], root, env)
    assert (own / "settings.local.json").read_text() == "{}"
    assert [path.name for path in own.iterdir() if path.name.startswith("settings")] == ["settings.local.json"]

"""Writing settings: nothing lost, nothing half written, nobody else reads."""

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.config.settings.writer import upsert_profile
from tests.harness.cli import Robota

FAKE = Profile(type="openai-compatible", name="fake", model="m", base_url="http://127.0.0.1:1/v1")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_first_profile_makes_directory_and_file_for_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "home" / "settings.json"
    assert upsert_profile(path, FAKE, set_current=True) == []
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    profile = {"type": "openai-compatible", "model": "m", "baseURL": "http://127.0.0.1:1/v1"}
    assert json.loads(path.read_text()) == {"providers": {"fake": profile}, "currentProvider": "fake"}
    assert [file.name for file in path.parent.iterdir()] == ["settings.json"]


def test_unknown_keys_and_their_order_are_kept_and_the_old_file_is_beside(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    before = '{"z": 1, "providers": {"other": {"type": "x", "own": [1]}, "fake": {"type": "old"}}, "ä": "ü", "a": {}}'
    path.write_text(before)
    upsert_profile(path, FAKE, set_current=False)
    after = json.loads(path.read_text())
    assert list(after) == ["z", "providers", "ä", "a"]
    assert after["providers"]["other"] == {"type": "x", "own": [1]}
    assert (tmp_path / "settings.json.bak").read_text() == before
    assert mode(tmp_path / "settings.json.bak") == 0o600


def test_fields_left_out_keep_their_value_unless_the_type_changes(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    upsert_profile(path, FAKE, set_current=False)
    upsert_profile(path, Profile(type="openai-compatible", name="fake", model="new"), set_current=False)
    assert json.loads(path.read_text())["providers"]["fake"]["baseURL"] == "http://127.0.0.1:1/v1"
    upsert_profile(path, Profile(type="scripted", name="fake"), set_current=False)
    assert json.loads(path.read_text())["providers"]["fake"] == {"type": "scripted"}


def test_a_file_that_cannot_be_understood_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"providers": oops')
    with pytest.raises(ConfigError, match="line 1"):
        upsert_profile(path, FAKE, set_current=True)
    assert path.read_text() == '{"providers": oops'


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    with pytest.raises(ConfigError, match="ROBOTA_HOME"):
        upsert_profile(blocker / "settings.json", FAKE, set_current=False)


def test_a_link_to_the_settings_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "robota.json", tmp_path / "settings.json"
    real.parent.mkdir()
    real.write_text("{}")
    link.symlink_to(real)
    upsert_profile(link, FAKE, set_current=False)
    assert link.is_symlink()
    assert "fake" in json.loads(real.read_text())["providers"]


def test_a_literal_key_is_written_with_a_warning_and_a_reference_without(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    literal = Profile(type="scripted", name="a", api_key="sk-1")
    (warning,) = upsert_profile(path, literal, set_current=False)
    assert "--api-key-env" in warning
    assert "sk-1" not in warning
    assert upsert_profile(path, Profile(type="scripted", name="b", api_key="$ENV:K"), set_current=False) == []


def test_settings_that_were_cut_off_are_named_and_the_version_before_them_is_kept(robota: Robota) -> None:
    """Settings contain deny rules, so an older version is not restored without asking."""
    path = robota.home / ".robota/settings.json"
    path.parent.mkdir()
    upsert_profile(path, FAKE, set_current=True)
    before = path.read_bytes()
    upsert_profile(path, Profile(type="scripted", name="b", api_key="k"), set_current=False)
    assert path.with_name("settings.json.bak").read_bytes() == before
    path.write_bytes(path.read_bytes()[:40])
    done = robota("-p", "go")
    assert done.code == 3 and "not JSON" in done.stderr and "not changed" in done.stderr
    assert len(path.read_bytes()) == 40


def test_a_draft_left_by_a_crash_does_not_stand_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    (tmp_path / f".settings.json.{os.getpid()}.new").write_text("half")
    upsert_profile(path, FAKE, set_current=False)
    assert "fake" in json.loads(path.read_text())["providers"]


def write_one(path: Path, number: int) -> None:
    upsert_profile(path, Profile(type="scripted", name=f"p{number}"), set_current=False)


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_one, args=(path, number)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert set(json.loads(path.read_text())["providers"]) == {f"p{number}" for number in range(8)}

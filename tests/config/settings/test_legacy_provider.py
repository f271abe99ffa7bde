"""The one provider of older versions is still understood, said to be old, and never written."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.config.errors import NoProviderError
from robota.config.profiles.choice import select_profile
from robota.config.profiles.profile import Profile
from robota.config.settings.load import Settings, load_settings
from robota.config.settings.writer import upsert_profile

OLD = {"name": "anthropic", "model": "claude-x", "apiKey": "$ENV:MY_KEY", "baseURL": "http://127.0.0.1:1"}


def load(home: Path, raw: dict[str, Any], root: Path | None = None) -> Settings:
    file = home / ".robota/settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(raw))
    return load_settings(root, {"HOME": str(home)})


def test_the_old_provider_is_used_and_the_notice_says_how_to_move_it(tmp_path: Path) -> None:
    settings = load(tmp_path, {"provider": OLD, "language": "de"})
    profile = select_profile(settings)
    assert (profile.type, profile.model, profile.api_key) == ("anthropic", "claude-x", "$ENV:MY_KEY")
    assert profile.base_url == "http://127.0.0.1:1" and settings.values.language == "de"
    [notice] = settings.notices
    move = "robota --configure-provider anthropic --type anthropic --model claude-x --base-url http://127.0.0.1:1"
    assert f"{move} --api-key-env VARIABLE --set-current; robota config unset provider" in notice
    assert "MY_KEY" not in notice


def test_a_profile_of_today_wins_and_the_old_one_is_said_to_be_useless(tmp_path: Path) -> None:
    new = {"here": {"type": "scripted", "model": "m"}}
    settings = load(tmp_path, {"provider": OLD, "providers": new})
    assert select_profile(settings).name == "here"
    assert list(settings.values.providers) == ["here"]
    assert "no effect together with providers" in settings.notices[0]


@pytest.mark.parametrize("wrong", ["anthropic", {}, {"name": 5}, ["anthropic"]])
def test_one_without_a_name_is_left_out_and_costs_nothing_else(tmp_path: Path, wrong: Any) -> None:
    settings = load(tmp_path, {"provider": wrong, "language": "de"})
    assert settings.values.language == "de"
    assert "must be an object with a name" in settings.notices[0]
    with pytest.raises(NoProviderError):
        select_profile(settings)


def test_a_repository_cannot_set_one_this_way_either(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".robota").mkdir(parents=True)
    (root / ".robota/settings.json").write_text(json.dumps({"provider": OLD}))
    assert load(tmp_path, {}, root).values.providers == {}


def test_setting_up_a_provider_writes_the_new_form_and_leaves_the_old_one(tmp_path: Path) -> None:
    load(tmp_path, {"provider": OLD})
    file = tmp_path / ".robota/settings.json"
    upsert_profile(file, Profile(type="scripted", name="here", model="m"), set_current=True)
    written = json.loads(file.read_text())
    assert written["provider"] == OLD and written["currentProvider"] == "here"
    assert select_profile(load_settings(None, {"HOME": str(tmp_path)})).name == "here"

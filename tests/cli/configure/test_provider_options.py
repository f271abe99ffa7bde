"""`--configure-provider` as the command line calls it."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.cli.configure.provider import ProviderChoice, configure_provider

GOOD: dict[str, Any] = {"type": "openai-compatible", "base_url": "http://127.0.0.1:1/v1", "model": "m"}


def configure(home: Path, **fields: Any) -> int:
    return configure_provider(ProviderChoice(**{"name": "fake", **fields}), {"ROBOTA_HOME": str(home), "KEY": "sk-9"})


def test_a_profile_is_written_and_the_next_command_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert configure(tmp_path, **GOOD, api_key_env="KEY", set_current=True) == 0
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert settings["currentProvider"] == "fake"
    assert settings["providers"]["fake"]["apiKey"] == "$ENV:KEY"
    out, err = capsys.readouterr()
    assert str(tmp_path / "settings.json") in out
    assert "robota -p" in out
    assert "--provider" not in out
    assert err == ""


def test_without_set_current_the_next_command_names_the_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert configure(tmp_path, **GOOD, api_key_env="UNSET") == 0
    out, err = capsys.readouterr()
    assert "--provider fake" in out
    assert "UNSET is not set" in err
    assert "currentProvider" not in json.loads((tmp_path / "settings.json").read_text())


def test_a_literal_key_is_warned_about_and_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert configure(tmp_path, **GOOD, api_key="sk-1") == 0
    out, err = capsys.readouterr()
    assert "plain text" in err
    assert "sk-1" not in out + err


def test_an_existing_profile_can_be_changed_by_one_field(tmp_path: Path) -> None:
    assert configure(tmp_path, **{**GOOD, "type": "openai-compat"}) == 0
    assert configure(tmp_path, model="other") == 0
    profile = json.loads((tmp_path / "settings.json").read_text())["providers"]["fake"]
    assert profile == {"type": "openai-compatible", "model": "other", "baseURL": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, "--type is required"),
        ({"type": "telepathy"}, "openai-compatible"),
        ({"type": "openai-compatible"}, "baseURL and model"),
        ({**GOOD, "api_key": "a", "api_key_env": "B"}, "not both"),
        ({**GOOD, "api_key_env": "sk-1234"}, "name of an environment variable"),
        ({**GOOD, "base_url": "localhost:1"}, "http://"),
        ({**GOOD, "name": "../x"}, "is not a valid profile name"),
    ],
)
def test_wrong_arguments_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fields: dict[str, Any], shown: str
) -> None:
    assert configure(tmp_path, **fields) == 2
    err = capsys.readouterr().err
    assert shown in err
    assert "Nothing was written" in err
    assert list(tmp_path.iterdir()) == []


def test_broken_settings_are_a_configuration_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "settings.json").write_text("{oops")
    assert configure(tmp_path, **GOOD) == 3
    assert "line 1" in capsys.readouterr().err
    assert (tmp_path / "settings.json").read_text() == "{oops"

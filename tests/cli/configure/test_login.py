"""Keys that are kept and forgotten, and the models behind them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import write_settings
from tests.config.keys.test_api_key import KEYRING
from tests.fakellm.server import running
from tests.harness.cli import NETWORK_GUARD, Robota


def profiles(robota: Robota) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((robota.home / ".robota/settings.json").read_text())["providers"]
    return found


def test_a_key_is_kept_where_only_its_owner_reads_it_and_is_forgotten_again(robota: Robota) -> None:
    done = robota("login", "mistral", "--with-key", "--no-check", stdin="sk-7\n")
    assert done.code == 0, done.stderr
    assert "sk-7" not in done.stdout + done.stderr
    path = robota.home / ".robota/settings.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert profiles(robota) == {"mistral": {"type": "mistral", "apiKey": "sk-7"}}
    assert robota("logout").code == 0
    assert profiles(robota) == {"mistral": {"type": "mistral"}}


def test_with_a_keyring_the_settings_hold_only_the_name_of_the_key(robota: Robota, tmp_path: Path) -> None:
    (tmp_path / "keyring.py").write_text(
        KEYRING + "def delete_password(service, name):\n    kept = _all()\n    del kept[f'{service}/{name}']\n"
        "    PLACE.write_text(json.dumps(kept))\n"
    )
    secrets = robota.home / "secrets.json"
    env = {"PYTHONPATH": f"{NETWORK_GUARD}:{tmp_path}", "KEYRING_FILE": str(secrets)}
    assert robota("login", "mistral", "--with-key", "--no-check", stdin="sk-7", env=env).code == 0
    assert profiles(robota)["mistral"]["apiKey"] == "$KEYRING:mistral"
    assert "sk-7" in secrets.read_text()
    assert robota("logout", "mistral", env=env).code == 0
    assert "sk-7" not in secrets.read_text() and "apiKey" not in profiles(robota)["mistral"]


def test_a_key_that_the_provider_refuses_is_not_kept(robota: Robota) -> None:
    write_settings(
        robota, {"providers": {"mine": {"type": "openai-compatible", "baseURL": "http://127.0.0.1:9/v1", "model": "m"}}}
    )
    done = robota("login", "mine", "--with-key", stdin="sk-7")
    assert done.code == 1 and "The key was not stored" in done.stderr
    assert "apiKey" not in profiles(robota)["mine"]


@pytest.mark.parametrize(("words", "stdin"), [(("nobody",), "k"), (("mistral",), ""), (("mistral",), "two words")])
def test_what_cannot_be_a_login_writes_nothing(robota: Robota, words: tuple[str, ...], stdin: str) -> None:
    done = robota("login", *words, "--with-key", stdin=stdin)
    assert done.code == 2 and "Nothing was written." in done.stderr
    assert not (robota.home / ".robota/settings.json").exists()


def test_models_are_listed_and_one_server_that_is_down_hides_no_other(robota: Robota) -> None:
    with running() as server:
        near = {"type": "openai-compatible", "baseURL": f"{server.url}/v1", "model": "fake-model"}
        gone = {**near, "baseURL": "http://127.0.0.1:9/v1"}
        write_settings(robota, {"currentProvider": "near", "providers": {"near": near, "gone": gone}})
        done = robota("models")
        as_json = json.loads(robota("models", "--json").stdout)
        assert robota("models", "--provider", "gone").code == 1
        assert "No model matches" in robota("models", "--provider", "near", "nothing-like-it").stdout
    assert done.code == 0, done.stderr
    assert any(line.split()[:3] == ["*", "near", "fake-model"] for line in done.stdout.splitlines())
    assert "robota: gone:" in done.stderr
    assert as_json["models"][0]["isCurrent"] is True and len(as_json["problems"]) == 1


@pytest.mark.parametrize("type", ["anthropic", "openai", "gemini", "ollama"])
def test_every_vendor_is_asked_in_its_own_way(robota: Robota, type: str) -> None:
    with running() as server:
        profile = {"type": type, "baseURL": f"{server.url}/v1", "model": "m", "apiKey": "k"}
        write_settings(robota, {"providers": {"a": profile}})
        done = robota("models")
    assert done.code == 0 and "fake-model" in done.stdout, done.stderr


def test_without_a_provider_the_error_says_how_to_get_one(robota: Robota) -> None:
    done = robota("models")
    assert done.code == 3 and "robota --configure" in done.stderr

"""Where a key comes from, and what happens when it is not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robota.config.errors import ConfigError
from robota.config.keys.api_key import resolve_key
from robota.config.profiles.profile import Profile

# A keyring as a user may have it: the real interface, kept in a file.
KEYRING = """
import json, os, pathlib
PLACE = pathlib.Path(os.environ["KEYRING_FILE"])
class Backend:
    priority = 5
def get_keyring():
    return Backend()
def _all():
    return json.loads(PLACE.read_text()) if PLACE.exists() else {}
def get_password(service, name):
    if name == "locked":
        raise RuntimeError("the keyring is locked")
    return _all().get(f"{service}/{name}")
def set_password(service, name, secret):
    PLACE.write_text(json.dumps({**_all(), f"{service}/{name}": secret}))
"""
RESOLVE = """
import sys
from robota.config.keys.api_key import resolve_key
from robota.config.errors import ConfigError
from robota.config.keys.keyring_store import write_secret
from robota.config.profiles.profile import Profile
write_secret("work", "sk-9")
try:
    print(resolve_key(Profile(type="t", name="p", api_key=sys.argv[1]), {}))
except ConfigError as error:
    print(error)
"""


def test_keys() -> None:
    assert resolve_key(Profile(type="t"), {}) is None
    assert resolve_key(Profile(type="t", api_key="sk-1"), {}) == "sk-1"
    assert resolve_key(Profile(type="t", api_key="$ENV:K"), {"K": "sk-2\n"}) == "sk-2"


@pytest.mark.parametrize("env", [{}, {"K": ""}, {"K": "  "}])
def test_an_unset_variable_fails_before_any_request(env: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="environment variable K"):
        resolve_key(Profile(type="t", name="x", api_key="$ENV:K"), env)


@pytest.mark.parametrize("key", ["sk-ä", "sk\n1", "sk 1"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_key(Profile(type="t", name="x", api_key=key), {})
    assert key not in str(caught.value)


def test_without_the_extra_the_command_that_installs_it_is_shown() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'robota\[keyring\]'"):
        resolve_key(Profile(type="t", name="x", api_key="$KEYRING:work"), {})


@pytest.mark.parametrize(
    ("name", "said"), [("work", "sk-9"), ("gone", "does not exist"), ("locked", "Unlock the keyring")]
)
def test_a_key_in_the_keyring(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "keyring.py").write_text(KEYRING)
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "KEYRING_FILE": str(tmp_path / "secrets.json")}
    command = [sys.executable, "-c", RESOLVE, f"$KEYRING:{name}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert said in done.stdout

"""Reading settings, choosing a profile, finding its key."""

from pathlib import Path

import pytest

from robota.config.errors import ConfigError
from robota.config.profiles import Profile
from robota.config.settings import load_settings, resolve_key, select_profile

TWO = """{
  "currentProvider": "near",
  "theme": "dark",
  "providers": {
    "near": {"type": "openai-compatible", "baseURL": "http://127.0.0.1:1/v1", "model": "m", "timeout": 60},
    "far": {"type": "scripted", "options": {"script": "s.json"}}
  }
}"""


def written(directory: Path, text: str | bytes) -> Path:
    path = directory / "settings.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_profiles_know_their_names(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, TWO))
    assert settings.current_provider == "near"
    near = settings.providers["near"]
    assert (near.name, near.base_url, near.timeout) == ("near", "http://127.0.0.1:1/v1", 60)
    assert settings.providers["far"].options == {"script": "s.json"}
    assert settings.raw["theme"] == "dark"


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_no_settings(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "settings.json" if text is None else written(tmp_path, text)
    assert load_settings(path).providers == {}


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    assert load_settings(written(tmp_path, b"\xef\xbb\xbf" + TWO.encode())).current_provider == "near"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{\n  "a": 1,\n  oops\n}', ["line 3", "not JSON"]),
        ("[]", ["line 1", "object"]),
        ('{\n"providers": []}', ["line 2", "providers"]),
        ('{\n\n"currentProvider": 7}', ["line 3", "currentProvider"]),
        ('{"providers": {\n"x": {"type": "t",\n"model": 7}}}', ["line 3", "providers.x.model", "str"]),
        ('{"providers": {\n"x": {"model": "m"}}}', ["line 2", "providers.x", "type"]),
        ('{"providers": {\n"x": "y"}}', ["line 2", "providers.x"]),
        (b"\xff\xfe\x00", ["cannot be read"]),
        ("[" * 100_000, ["not JSON"]),
    ],
)
def test_a_wrong_file_is_named_by_line_and_key_and_left_alone(
    tmp_path: Path, text: str | bytes, shown: list[str]
) -> None:
    path = written(tmp_path, text)
    before = path.read_bytes()
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    message = str(caught.value)
    assert str(path) in message
    assert all(words in message for words in shown), message
    assert "left as it is" in message
    assert path.read_bytes() == before


def test_a_directory_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path / "settings.json")


def test_which_profile_is_meant(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, TWO))
    assert select_profile(settings).name == "near"
    assert select_profile(settings, "far").name == "far"
    assert select_profile(settings, None, "bigger").model == "bigger"
    only = load_settings(written(tmp_path, '{"providers": {"one": {"type": "scripted"}}}'))
    assert select_profile(only).name == "one"


@pytest.mark.parametrize(
    ("text", "name", "shown"),
    [
        ("{}", None, ["No provider is configured", "--configure-provider"]),
        ("{}", "x", ["'x'", "Known: none", "--configure-provider"]),
        (TWO, "x", ["'x'", "far, near"]),
        ('{"currentProvider": "gone"}', None, ["'gone'", "currentProvider"]),
        ('{"providers": {"a": {"type": "t"}, "b": {"type": "t"}}}', None, ["--provider", "a, b"]),
    ],
)
def test_no_such_profile_says_what_to_do(tmp_path: Path, text: str, name: str | None, shown: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        select_profile(load_settings(written(tmp_path, text)), name)
    assert all(words in str(caught.value) for words in shown)


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

"""Reading the settings: which profiles there are, and which one is meant."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles import Profile

ENV_MARK: Final = "$ENV:"
HOW_TO_ADD: Final = "robota --configure-provider NAME --type TYPE --base-url URL --model MODEL --set-current"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings say. `raw` is the whole of them as written, with the keys we do not know."""

    current_provider: str | None = None
    providers: dict[str, Profile] = {}
    raw: dict[str, Any] = {}


def load_settings(path: Path) -> Settings:
    """The settings of one file; no file is no settings. A file that cannot be understood is left as it is."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The settings file {path} cannot be read: {error}. It was left as it is.") from error
    return parse_settings(text, path) if text.strip() else Settings()


def parse_settings(text: str, path: Path) -> Settings:
    try:
        raw = json.loads(text)
    except json.JSONDecodeError as error:
        raise _wrong(path, error.lineno, f"this is not JSON: {error.msg} (column {error.colno})") from error
    except (RecursionError, ValueError) as error:
        raise _wrong(path, 1, f"this is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise _wrong(path, 1, "a JSON object is needed here")
    current = raw.get("currentProvider")
    if current is not None and not isinstance(current, str):
        raise _wrong(path, _line(text, ["currentProvider"]), "currentProvider must be the name of a profile")
    profiles = raw.get("providers", {})
    if not isinstance(profiles, dict):
        raise _wrong(path, _line(text, ["providers"]), "providers must be an object of profiles by name")
    providers = {name: _profile(name, value, text, path) for name, value in profiles.items()}
    return Settings(current_provider=current, providers=providers, raw=raw)


def select_profile(settings: Settings, name: str | None = None, model: str | None = None) -> Profile:
    """The profile asked for, else the current one, else the only one; `model` replaces the profile's own."""
    wanted = name or settings.current_provider
    if wanted is None and len(settings.providers) == 1:
        wanted = next(iter(settings.providers))
    if wanted is None:
        known = _known(settings)
        text = f"No provider is chosen. Choose one with --provider: {known}." if known else "No provider is configured."
        raise ConfigError(f"{text} Add one with: {HOW_TO_ADD}")
    profile = settings.providers.get(wanted)
    if profile is None:
        known = _known(settings) or "none"
        where = "" if name else " (named by currentProvider)"
        raise ConfigError(f"There is no provider profile {wanted!r}{where}. Known: {known}. Add one with: {HOW_TO_ADD}")
    return msgspec.structs.replace(profile, model=model) if model else profile


def resolve_key(profile: Profile, env: Mapping[str, str]) -> str | None:
    """The key itself, from the profile or the environment variable it names; None if it has none."""
    key = profile.api_key
    if not key:
        return None
    source = f"The apiKey of provider profile {profile.name!r}"
    if key.startswith(ENV_MARK):
        variable = key.removeprefix(ENV_MARK)
        source = f"The environment variable {variable}, named by provider profile {profile.name!r},"
        key = env.get(variable, "")
        if not key.strip():
            raise ConfigError(f"{source} is not set. Nothing was sent. Set it: export {variable}=…")
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{source} holds a character that no API key has. Nothing was sent. Set it again.")
    return key


def _profile(name: str, value: Any, text: str, path: Path) -> Profile:
    try:
        profile = msgspec.convert(value, Profile)
    except msgspec.ValidationError as error:
        keys = re.findall(r"\.(\w+)", str(error).partition("`$")[2])
        problem = str(error).partition(" - at ")[0]
        dotted = ".".join(["providers", name, *keys])
        raise _wrong(path, _line(text, ["providers", name, *keys]), f"{dotted}: {problem}") from error
    return msgspec.structs.replace(profile, name=name)


def _wrong(path: Path, line: int, problem: str) -> ConfigError:
    return ConfigError(f"{path}, line {line}: {problem}. The file was left as it is. Correct it and try again.")


def _line(text: str, keys: list[str]) -> int:
    """The line where a key stands, found by looking for its names one after the other."""
    place = 0
    for key in keys:
        found = text.find(json.dumps(key, ensure_ascii=False), place)
        place = found if found >= 0 else place
    return text.count("\n", 0, place) + 1


def _known(settings: Settings) -> str:
    return ", ".join(sorted(settings.providers))

"""Validates a settings file setting by setting: an invalid one is left out, the others are used."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, get_type_hints

import msgspec

from robota.config.profiles.profile import Profile
from robota.config.settings.languages import language_problem
from robota.config.settings.schema import Permissions, SandboxSettings, SettingsFile, UpdateCheck, allowed_values

JsonPath = tuple[str | int, ...]

# Each costs some milliseconds, and nobody reads more; a file with more was not written to be used.
MAX_FLAWS: Final = 100

# Validated entry by entry, so that one invalid profile does not affect the others.
MAPS: Final[Mapping[str, Any]] = {
    "providers": Profile,
    "models": dict[str, Any],
    "hooks": list[dict[str, Any]],
    "env": str,
    "mcpServers": dict[str, Any],
}
RECORDS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "permissions": Permissions,
    "sandbox": SandboxSettings,
    "updateCheck": UpdateCheck,
}
TYPES: Final = {
    field.encode_name: hint
    for field, hint in zip(
        msgspec.structs.fields(SettingsFile),
        get_type_hints(SettingsFile, include_extras=True).values(),
        strict=True,
    )
}

_WORDS: Final = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "nothing",
}


class FlawKind(StrEnum):
    WRONG = "wrong"
    UNKNOWN = "unknown"  # an unknown name; nothing was left out
    MISSING = "missing"  # a required field is missing


class SettingFlaw(msgspec.Struct, frozen=True, kw_only=True):
    """A problem with one value of a file. The value was left out, unless only its name is unknown."""

    path: JsonPath
    text: str
    kind: FlawKind = FlawKind.WRONG


class TooManyFlaws(Exception):
    """A file has more than `MAX_FLAWS` problems."""


class Flaws:
    """The problems found so far."""

    def __init__(self) -> None:
        self.found: list[SettingFlaw] = []

    def add(self, flaw: SettingFlaw) -> None:
        """Add a problem. Raises `TooManyFlaws`."""
        if len(self.found) >= MAX_FLAWS:
            raise TooManyFlaws
        self.found.append(flaw)


def checked(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[SettingFlaw]]:
    """The valid part of `raw`, and the problems of the rest. Raises `TooManyFlaws`."""
    values: dict[str, Any] = {}
    flaws = Flaws()
    for name, value in raw.items():
        if value is None:
            continue
        if name not in TYPES:
            flaws.add(_unknown((name,), TYPES))
        elif name in MAPS and isinstance(value, dict):
            values[name] = _checked_entries(name, value, flaws)
        else:
            sound = _sound_part(value, TYPES[name], (name,), flaws)
            if sound is not None:
                values[name] = sound
                _note_unknown_fields(sound, RECORDS.get(name), (name,), flaws)
    _check_language(values, flaws)
    _check_allowed_hosts(values, flaws)
    return values, flaws.found


def type_of(path: Sequence[str]) -> Any:
    """The type of a setting, if it is known."""
    name, *rest = path
    if name in MAPS and rest:
        return MAPS[name] if len(rest) == 1 else _field_type(MAPS[name], rest)
    return TYPES.get(name, Any) if not rest else _field_type(RECORDS.get(name), rest)


def _field_type(record: Any, rest: Sequence[str]) -> Any:
    if len(rest) != 1 or not isinstance(record, type) or not issubclass(record, msgspec.Struct):
        return Any
    names = {field.encode_name: field.name for field in msgspec.structs.fields(record)}
    return get_type_hints(record, include_extras=True).get(names.get(rest[0], ""), Any)


def _checked_entries(name: str, entries: Mapping[str, Any], flaws: Flaws) -> dict[str, Any]:
    kind = MAPS[name]
    sound_entries: dict[str, Any] = {}
    for key, value in entries.items():
        sound = _sound_part(value, kind, (name, key), flaws, whole=name == "providers")
        if sound is not None:
            sound_entries[key] = sound
        _note_unknown_fields(value, kind, (name, key), flaws)
    return sound_entries


def _sound_part(value: Any, kind: Any, path: JsonPath, flaws: Flaws, *, whole: bool = False) -> Any:
    """The value without its invalid parts; None if nothing is left. With `whole` it is all or nothing."""
    rest = value
    while True:
        try:
            msgspec.convert(rest, kind)
        except msgspec.ValidationError as error:
            error_path = _path_of(error)
            flaws.add(_flaw(error, (*path, *error_path)))
            if not error_path or whole:
                return None
            rest = _without(rest, error_path)
        else:
            return rest


def _path_of(error: msgspec.ValidationError) -> JsonPath:
    """The path of an error in the value; msgspec writes `$.permissions.deny[1]`, and `[...]` for an unknown index."""
    path = str(error).rpartition(" - at `$")[2].removesuffix("`") if " - at `$" in str(error) else ""
    named = path.partition("[...]")[0]
    return tuple(int(step[1]) if step[1] else step[2] for step in re.finditer(r"\[(\d+)\]|\.([^.\[]+)", named))


def _without(value: Any, path: JsonPath) -> Any:
    rest = msgspec.json.decode(msgspec.json.encode(value))
    node = rest
    for step in path[:-1]:
        node = node[step]
    del node[path[-1]]
    return rest


def _flaw(error: msgspec.ValidationError, path: JsonPath) -> SettingFlaw:
    text = str(error).partition(" - at `$")[0]
    wrong = re.fullmatch(r"Expected `(.+)`, got `(.+)`", text)
    if wrong:
        needed = " or ".join(_WORDS.get(word, word) for word in wrong[1].split(" | ") if word != "null")
        return SettingFlaw(path=path, text=f"{needed} is required here, not {_WORDS.get(wrong[2], wrong[2])}")
    missing = re.fullmatch(r"Object missing required field `(.+)`", text)
    if missing:
        return SettingFlaw(path=path, text=f"{missing[1]} is missing here", kind=FlawKind.MISSING)
    allowed = allowed_values(path)
    return SettingFlaw(path=path, text=f"use one of {', '.join(allowed)}" if allowed else text[:1].lower() + text[1:])


def _note_unknown_fields(value: Any, kind: Any, path: JsonPath, flaws: Flaws) -> None:
    if not isinstance(value, dict) or not isinstance(kind, type) or not issubclass(kind, msgspec.Struct):
        return
    field_names = {field.encode_name for field in msgspec.structs.fields(kind)}
    for name in value:
        if name not in field_names:
            flaws.add(_unknown((*path, name), field_names))


def _unknown(path: JsonPath, names: Iterable[str]) -> SettingFlaw:
    # Imported only for an error, because it takes some milliseconds.
    from difflib import get_close_matches

    similar = get_close_matches(str(path[-1]), list(names), n=1)
    hint = f"; did you mean {similar[0]}?" if similar else ""
    return SettingFlaw(path=path, text=f"there is no such setting, so it has no effect{hint}", kind=FlawKind.UNKNOWN)


def _check_language(values: dict[str, Any], flaws: Flaws) -> None:
    problem = language_problem(values["language"]) if "language" in values else None
    if problem is not None:
        del values["language"]
        flaws.add(SettingFlaw(path=("language",), text=problem))


def _check_allowed_hosts(values: dict[str, Any], flaws: Flaws) -> None:
    sandbox = values.get("sandbox", {})
    if not sandbox.get("allowedHosts"):
        return
    # Rarely needed, and `ipaddress` is slow to import.
    from robota.config.settings.allowed_hosts import NoHost, allowed_host

    sound: list[str] = []
    for index, text in enumerate(sandbox["allowedHosts"]):
        try:
            allowed_host(text)
        except NoHost as problem:
            flaws.add(SettingFlaw(path=("sandbox", "allowedHosts", index), text=str(problem)))
        else:
            sound.append(text)
    values["sandbox"] = {**sandbox, "allowedHosts": sound}

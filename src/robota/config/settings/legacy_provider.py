"""Reads the setting `provider` of older versions, which is one unnamed provider. It is never written."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.config.settings.layers import LayerText
from robota.config.settings.problems import SettingsProblem, Severity

KEY: Final = "provider"
REPLACED_BY: Final = frozenset({"providers", "currentProvider"})
FIELDS: Final = ("model", "apiKey", "baseURL", "timeout", "options")
OPTIONS: Final = {"model": "--model", "baseURL": "--base-url"}
HOW_TO_REMOVE: Final = "robota config unset provider"


def with_legacy_provider(parsed: LayerText) -> LayerText:
    """The file with `provider` converted to a profile, if it has no profiles."""
    legacy = parsed.raw.get(KEY)
    if legacy is None:
        return parsed
    rest = {name: value for name, value in parsed.raw.items() if name != KEY}
    if not REPLACED_BY.isdisjoint(rest):
        text = f"it has no effect together with providers and currentProvider; to remove it: {HOW_TO_REMOVE}"
        return _with_notice(parsed, rest, text)
    type_name = legacy.get("name") if isinstance(legacy, dict) else None
    if not isinstance(type_name, str) or not type_name:
        text = "this old setting must be an object with a name, such as anthropic, so it has no effect"
        return _with_notice(parsed, rest, f"{text}; set up a provider: robota --configure")
    profile = {"type": type_name, **{field: legacy[field] for field in FIELDS if field in legacy}}
    return _with_notice(parsed, {**rest, "providers": {type_name: profile}}, _how_to_move(type_name, legacy))


def _how_to_move(type_name: str, legacy: Mapping[str, Any]) -> str:
    fields = [f"{option} {legacy[field]}" for field, option in OPTIONS.items() if field in legacy]
    key = ["--api-key-env VARIABLE"] if "apiKey" in legacy else []
    command = " ".join(["robota --configure-provider", type_name, "--type", type_name, *fields, *key, "--set-current"])
    return f"the old way to set a provider, still used as profile {type_name!r}; move it: {command}; {HOW_TO_REMOVE}"


def _with_notice(parsed: LayerText, raw: dict[str, Any], text: str) -> LayerText:
    problem = SettingsProblem(where=parsed.origin.where, key=KEY, text=text, severity=Severity.WARNING)
    return msgspec.structs.replace(parsed, raw=raw, problems=(*parsed.problems, problem))

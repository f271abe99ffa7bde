"""The layer of settings from environment variables."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.config.settings.layers import Layer, LayerText, LayerValues, Origin, check_layer

VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "ROBOTA_PROVIDER": ("currentProvider",),
    "ROBOTA_MODEL": ("model",),
    "ROBOTA_LANGUAGE": ("language",),
    "ROBOTA_COMPLETION": ("completion",),
    "ROBOTA_PERMISSION_MODE": ("permissions", "defaultMode"),
}
NO_UPDATE_CHECK: Final = "ROBOTA_DISABLE_UPDATE_CHECK"
# Parts of the model's context that the value 0 switches off.
SWITCHES: Final = {"ROBOTA_MEMORY": "memory", "ROBOTA_ENVIRONMENT": "environment"}


def from_environment(env: Mapping[str, str]) -> tuple[LayerValues, ...]:
    """One layer for each variable that is set, so that each appears as an origin."""
    layers = [
        _checked(variable, _nested(key, env[variable])) for variable, key in VARIABLES.items() if env.get(variable)
    ]
    if env.get(NO_UPDATE_CHECK, "") not in ("", "0", "false"):
        layers.append(_checked(NO_UPDATE_CHECK, {"updateCheck": {"enabled": False}}))
    layers += [_checked(variable, switched({variable: env[variable]})) for variable in SWITCHES if env.get(variable)]
    return tuple(layers)


def switched(env: Mapping[str, str]) -> dict[str, Any]:
    """The settings that `SWITCHES` make."""
    by_key = {key: env.get(variable, "") for variable, key in SWITCHES.items()}
    return {key: {"enabled": value not in ("0", "false")} for key, value in by_key.items() if value}


def _checked(variable: str, raw: dict[str, Any]) -> LayerValues:
    layer = check_layer(LayerText(origin=Origin(Layer.ENVIRONMENT, variable), raw=raw))
    where = f"environment variable {variable}"
    return msgspec.structs.replace(
        layer, problems=tuple(msgspec.structs.replace(problem, where=where) for problem in layer.problems)
    )


def _nested(key: tuple[str, ...], value: str) -> dict[str, Any]:
    nested: Any = value
    for part in reversed(key):
        nested = {part: nested}
    whole: dict[str, Any] = nested
    return whole

"""Facts about models: context window, limits, abilities, price. The data is in catalogue.json."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.providers.chunks import EditFormat
from robota.providers.pricing import Price

# Suffixes of a model name that do not make it a different model: a date, a version, a tag.
VARIANT: Final = r"(-(0|latest|\d{4,8}|\d{4}-\d{2}-\d{2}|preview(-[\d-]+)?)|[:@][\w.-]+)"
OVERRIDES: Final = "models"


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One model, as written in catalogue.json and the settings. The defaults are used for unknown models.

    Without an `edit_format` the name of the model decides, see `edit_format_of`.
    """

    context_window: int = 128_000
    max_output_tokens: int | None = None
    images: bool = False
    thinking: bool = False
    native_tools: bool = True
    edit_format: EditFormat | None = None
    price: Price | None = None


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a model, and whether they are known or defaults."""

    facts: ModelFacts
    is_known: bool


class _Catalogue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    as_of: str
    edit_formats: dict[str, EditFormat]
    models: dict[str, dict[str, ModelFacts]]


def lookup(type: str, model: str, overrides: Mapping[str, Any] | None = None) -> ModelEntry:
    """The facts about a model of a provider type. `overrides` maps model ids to facts that take precedence."""
    facts = _find(catalogue().models.get(type, {}), model) or _elsewhere(type, model)
    override = (overrides or {}).get(model)
    if override is None:
        return ModelEntry(facts=facts or ModelFacts(), is_known=facts is not None)
    return ModelEntry(facts=_changed(facts or ModelFacts(), override, model), is_known=True)


def entry_of(profile: Profile, model: str | None = None) -> ModelEntry:
    """The entry of a profile's model, or of another one that it serves."""
    overrides = profile.options.get(OVERRIDES) or {}
    if not isinstance(overrides, Mapping):
        raise ConfigError(f"{_models_of(profile)} must be an object of models by id. Nothing was sent.")
    return lookup(profile.type, model or profile.model or "", overrides)


def edit_format_of(model: str, facts: ModelFacts | None = None) -> EditFormat:
    """The format in which a model edits files: that of its facts, else that of the family its name belongs to."""
    if facts is not None and facts.edit_format is not None:
        return facts.edit_format
    plain = model.rpartition("/")[2].lower()
    families = catalogue().edit_formats.items()
    return next((form for pattern, form in families if fnmatchcase(plain, pattern)), EditFormat.REPLACE)


def unknown_model(profile: Profile, context_window: int) -> str:
    """The notice about a model that is not in the catalogue."""
    return (
        f"The model {profile.model} is not in the catalogue: a context window of {context_window:,} tokens is assumed, "
        f"and its price is unknown. To change that, set {_models_of(profile)} in the settings."
    )


@cache
def catalogue() -> _Catalogue:
    """The data of catalogue.json."""
    return msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_Catalogue)


def _find(section: Mapping[str, ModelFacts], model: str) -> ModelFacts | None:
    if model in section:
        return section[model]
    families = [name for name in section if model.startswith(name) and re.fullmatch(VARIANT, model[len(name) :])]
    return section[max(families, key=len)] if families else None


def _elsewhere(type: str, model: str) -> ModelFacts | None:
    """The facts about the same model on another host, without its price, which may differ."""
    plain = model.rpartition("/")[2]
    for name, section in catalogue().models.items():
        facts = _find(section, plain) if name != type else None
        if facts is not None:
            return msgspec.structs.replace(facts, price=None)
    return None


def _changed(facts: ModelFacts, override: Any, model: str) -> ModelFacts:
    try:
        return msgspec.convert({**msgspec.to_builtins(facts), **override}, ModelFacts)
    except (msgspec.ValidationError, TypeError) as error:
        field_names = ", ".join(field.encode_name for field in msgspec.structs.fields(ModelFacts))
        raise ConfigError(
            f"models.{model} in the settings is wrong: {error}. It takes {field_names}. Nothing was sent."
        ) from error


def _models_of(profile: Profile) -> str:
    return f"providers.{profile.name or profile.type}.options.{OVERRIDES}"

"""`ProviderDefinition`: a kind of provider as data and functions. No code outside its module knows its name."""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from robota.config.profiles.profile import Profile
from robota.config.settings.schema import Effort
from robota.providers.catalogue import ModelFacts, edit_format_of, entry_of, unknown_model
from robota.providers.chunks import EditFormat, Provider
from robota.providers.profile_options import ModelOptions, options_of
from robota.secrets.named_values import ENV_REFERENCE

USUAL_OUTPUT_TOKENS: Final = 8_192

T = TypeVar("T")


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine must know about a model. `max_output_tokens` is sent with every request, if it is set.

    `notice` is shown in every session; `assumption` says what is assumed about an unknown model, for `robota doctor`
    and the set-up.
    """

    context_window: int = 128_000
    max_output_tokens: int | None = None
    native_tools: bool = True
    sees_images: bool = False
    thinks: bool = False
    edit_format: EditFormat = EditFormat.REPLACE
    notice: str | None = None
    assumption: str | None = None

    @property
    def input_room(self) -> int:
        """The tokens of the context window that are left for input."""
        reserved = self.max_output_tokens or USUAL_OUTPUT_TOKENS
        # Some models allow output as large as the window; half of the window must stay for input.
        return self.context_window - min(reserved, self.context_window // 2)


def catalogued(profile: Profile, defaults_for_unknown: ModelFacts | None = None) -> ModelInfo:
    """The facts about the model of a profile: from the profile, else from the catalogue, else defaults."""
    options, entry = options_of(profile, ModelOptions), entry_of(profile)
    facts = entry.facts if entry.is_known or defaults_for_unknown is None else defaults_for_unknown
    is_described = entry.is_known or options.context_window is not None
    return ModelInfo(
        context_window=_first(options.context_window, facts.context_window),
        max_output_tokens=_first(options.max_output_tokens, facts.max_output_tokens),
        native_tools=_first(options.native_tools, facts.native_tools),
        sees_images=_first(options.sees_images, facts.images),
        thinks=facts.thinking,
        edit_format=_first(options.edit_format, edit_format_of(profile.model or "", facts)),
        assumption=None if is_described else unknown_model(profile, facts.context_window),
    )


def _first(configured: T | None, default: T) -> T:
    return default if configured is None else configured


class CostSource(StrEnum):
    """Where the cost of a reply comes from, if no price is configured for the model."""

    CATALOGUE = "catalogue"
    REPORTED = "reported"  # the server reports it with each reply
    FREE = "free"  # the model runs on this machine


class SetupStep(msgspec.Struct, frozen=True, kw_only=True):
    """One question of the set-up, and the profile field that its answer fills."""

    field: str
    prompt: str
    required: bool = False
    secret: bool = False
    default: str | None = None


class OfferedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that a server lists, with the context window that it announces."""

    name: str
    context_window: int | None = None


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a probe: a line for the user, whether the server has the model, and the models it listed.

    `window` is the context window that it announced for the model.
    """

    text: str
    offers_model: bool = True
    models: tuple[str, ...] = ()
    window: int | None = None


class ProviderDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of provider: how it is presented, set up and created, and what is known about its models.

    `efforts` are the options that make a model think more or less; without them it cannot be told.
    `local_address` is the base URL where a server of this kind listens if it runs on this machine. `api_protocol` is
    the name in request rows for the vendor's way of counting tokens.
    """

    type: str
    display_name: str
    description: str
    create_provider: Callable[[Profile], Provider]
    defaults: dict[str, Any] = {}
    setup_steps: tuple[SetupStep, ...] = ()
    requires_api_key: bool = False
    aliases: tuple[str, ...] = ()
    probe_profile: Callable[[Profile], Awaitable[Probed]] | None = None
    list_models: Callable[[Profile], Awaitable[list[OfferedModel]]] | None = None
    model_info: Callable[[Profile], ModelInfo] = catalogued
    local_address: str | None = None
    api_protocol: str = "openai"
    efforts: Mapping[Effort, Mapping[str, Any]] = {}
    cost_source: CostSource = CostSource.CATALOGUE

    @property
    def key_variable(self) -> str | None:
        """The environment variable that usually holds the API key for this kind."""
        written = [step.default for step in self.setup_steps if step.field == "apiKey"]
        for reference in (*written, self.defaults.get("apiKey")):
            if isinstance(reference, str) and reference.startswith(ENV_REFERENCE):
                return reference.removeprefix(ENV_REFERENCE)
        return None

"""What a provider is: a record made of data and two functions. No code outside a provider's module knows its name."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from robota.config.profiles.profile import Profile
from robota.providers.catalogue import ModelFacts, entry_of, unknown_model
from robota.providers.chunks import Provider
from robota.providers.profile_options import ModelOptions, options_of
from robota.secrets.named_values import ENV_REFERENCE

USUAL_OUTPUT_TOKENS: Final = 8_192

T = TypeVar("T")


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine must know of a model. `max_output_tokens` is sent with every request, if it is set.

    `notice` is something a person should be told in every session; `assumption` says what is taken for granted of a
    model that nobody described, which `robota doctor` and the set-up tell.
    """

    context_window: int = 128_000
    max_output_tokens: int | None = None
    native_tools: bool = True
    sees_images: bool = False
    thinks: bool = False
    notice: str | None = None
    assumption: str | None = None

    @property
    def input_room(self) -> int:
        """Tokens of the window that are left when those for the answer are set aside."""
        reserved = self.max_output_tokens or USUAL_OUTPUT_TOKENS
        # Some models are said to answer with their whole window; then nothing would be left to ask with.
        return self.context_window - min(reserved, self.context_window // 2)


def catalogued(profile: Profile, unheard_of: ModelFacts | None = None) -> ModelInfo:
    """What is known of a profile's model: the profile's own word, then the catalogue's, then what is usual."""
    options, entry = options_of(profile, ModelOptions), entry_of(profile)
    facts = entry.facts if entry.is_known or unheard_of is None else unheard_of
    is_told = entry.is_known or options.context_window is not None
    return ModelInfo(
        context_window=_first(options.context_window, facts.context_window),
        max_output_tokens=_first(options.max_output_tokens, facts.max_output_tokens),
        native_tools=_first(options.native_tools, facts.native_tools),
        sees_images=_first(options.sees_images, facts.images),
        thinks=facts.thinking,
        assumption=None if is_told else unknown_model(profile, facts.context_window),
    )


def _first(told: T | None, known: T) -> T:
    return known if told is None else told


class CostSource(StrEnum):
    """How what a reply costs becomes known, if no price was written for the model."""

    CATALOGUE = "catalogue"
    REPORTED = "reported"  # the server says it with each reply
    FREE = "free"  # it runs on the person's own machine


class SetupStep(msgspec.Struct, frozen=True, kw_only=True):
    """One question of the set-up: which field of the profile it fills and how it is asked."""

    field: str
    prompt: str
    required: bool = False
    secret: bool = False
    default: str | None = None


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """A server that answered: a line for a person, whether it has the model, and the models it named, if any."""

    text: str
    offers_model: bool = True
    models: tuple[str, ...] = ()


class ProviderDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of provider, by the contract of the seed.

    `local_address` is the base URL where a server of this kind listens if it runs on this machine. `api_protocol` is
    what the rows of a conversation call the vendor's way of counting tokens.
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
    list_models: Callable[[Profile], Awaitable[list[str]]] | None = None
    model_info: Callable[[Profile], ModelInfo] = catalogued
    local_address: str | None = None
    api_protocol: str = "openai"
    cost_source: CostSource = CostSource.CATALOGUE

    @property
    def key_variable(self) -> str | None:
        """The environment variable in which people keep the API key of this kind."""
        written = [step.default for step in self.setup_steps if step.field == "apiKey"]
        for reference in (*written, self.defaults.get("apiKey")):
            if isinstance(reference, str) and reference.startswith(ENV_REFERENCE):
                return reference.removeprefix(ENV_REFERENCE)
        return None

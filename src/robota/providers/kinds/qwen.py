"""The provider type `qwen`: Alibaba's Model Studio, with the web tools that run on its side."""

from typing import Any

import msgspec

from robota.config.profiles.profile import Profile
from robota.providers.chunks import Provider
from robota.providers.kinds.compatible import hosted
from robota.providers.kinds.openai_compatible import chat_client
from robota.providers.profile_options import options_of


class BuiltInWebTools(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Web tools that run on the server's side."""

    web_search: bool = False
    web_fetch: bool = False


class QwenOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The `options` of a profile in addition to those of `openai-compatible`."""

    built_in_web_tools: BuiltInWebTools = BuiltInWebTools()
    body: dict[str, Any] = msgspec.field(default_factory=dict)


def create(profile: Profile) -> Provider:
    """A provider for the profile."""
    options = options_of(profile, QwenOptions)
    body = {**_web_fields(options.built_in_web_tools), **options.body}
    return chat_client(msgspec.structs.replace(profile, options={**profile.options, "body": body}))


def _web_fields(tools: BuiltInWebTools) -> dict[str, Any]:
    """This service treats fetching as a kind of search that opens the pages it finds."""
    if tools.web_fetch:
        return {"enable_search": True, "search_options": {"search_strategy": "agent_max"}}
    return {"enable_search": True} if tools.web_search else {}


DEFINITION = msgspec.structs.replace(
    hosted(
        type="qwen",
        name="Qwen",
        description="Qwen models on Alibaba Cloud Model Studio; options.builtInWebTools lets them search the web.",
        url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key="DASHSCOPE_API_KEY",
        model="qwen3.6-plus",
        options={"cacheMarks": ["qwen"]},
    ),
    create_provider=create,
)

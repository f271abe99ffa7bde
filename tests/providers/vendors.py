"""One profile for each dialect, all of them pointing at a server on loopback."""

from typing import Any

from robota.config.profiles.profile import Profile

# Type, what follows the server's address, and options.
DIALECTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "anthropic": ("anthropic", "", {}),
    "responses": ("openai", "/v1", {}),
    "chat": ("openai", "/v1", {"api": "chat"}),
    "compatible": ("openai-compatible", "/v1", {}),
    "gemini": ("google", "/v1beta", {}),
}
VENDORS = ("anthropic", "responses", "gemini")


def profile_of(dialect: str, url: str, **fields: Any) -> Profile:
    kind, path, options = DIALECTS[dialect]
    options = {"contextWindow": 100_000, **options, **fields.pop("options", {})}
    known = {"name": dialect, "model": "fake-model", "api_key": "sk-secret"}
    known["base_url"] = url + path
    return Profile(type=kind, options=options, **{**known, **fields})

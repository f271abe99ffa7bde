"""OAuth for MCP servers: kept tokens are used and refreshed; only `robota mcp login` asks a person for new ones."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, ValidationError

from robota.extensions.mcp.sign_in_store import SignIn, SignInStore

NOWHERE: Final = "http://127.0.0.1/callback"  # where nobody is sent


class SignInNeeded(Exception):
    """The server does not take the tokens that are kept, or there are none."""


class Browser(msgspec.Struct, frozen=True, kw_only=True):
    """How a person signs in: they go to an address, and what they bring back arrives at `redirect_to`."""

    redirect_to: str
    go_to: Callable[[str], Awaitable[None]]
    come_back: Callable[[], Awaitable[AuthorizationCodeResult]]


def kept_sign_in(name: str, url: str, store: SignInStore) -> OAuthClientProvider | None:
    """What authenticates requests with the tokens that are kept; None if there are none."""
    if store.of(url) is None:
        return None

    async def refuse(address: str) -> None:
        raise SignInNeeded(f"your sign-in is not valid any more. Sign in again: robota mcp login {name}")

    async def never() -> AuthorizationCodeResult:
        raise SignInNeeded(name)

    return _provider(url, store, Browser(redirect_to=NOWHERE, go_to=refuse, come_back=never))


def new_sign_in(url: str, store: SignInStore, browser: Browser) -> OAuthClientProvider:
    """What authenticates requests by letting the person sign in when the server wants it."""
    store.forget(url)
    return _provider(url, store, browser)


def _provider(url: str, store: SignInStore, browser: Browser) -> OAuthClientProvider:
    storage = _Storage(url, store)
    client_metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(browser.redirect_to)], client_name="Robota")
    provider = OAuthClientProvider(url, client_metadata, storage, browser.go_to, browser.come_back)
    storage.provider = provider
    return provider


class _Storage:
    """A `TokenStorage` of the SDK. It also keeps where and when tokens are refreshed, which the SDK forgets."""

    provider: OAuthClientProvider

    def __init__(self, url: str, store: SignInStore) -> None:
        self._url = url
        self._store = store

    async def get_tokens(self) -> OAuthToken | None:
        kept = self._kept()
        if kept.tokens is None:
            return None
        try:
            if kept.metadata is not None:
                self.provider.context.oauth_metadata = OAuthMetadata.model_validate(kept.metadata)
            tokens = OAuthToken.model_validate(kept.tokens)
        except ValidationError:
            return None
        self.provider.context.token_expiry_time = kept.expires_at
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        metadata = self.provider.context.oauth_metadata
        changed = msgspec.structs.replace(
            self._kept(),
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            expires_at=self.provider.context.token_expiry_time,
            metadata=None if metadata is None else metadata.model_dump(mode="json", exclude_none=True),
        )
        self._store.keep(changed)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = self._kept().client
        try:
            return None if client is None else OAuthClientInformationFull.model_validate(client)
        except ValidationError:
            return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        client = client_info.model_dump(mode="json", exclude_none=True)
        self._store.keep(msgspec.structs.replace(self._kept(), client=client))

    def _kept(self) -> SignIn:
        return self._store.of(self._url) or SignIn(url=self._url)

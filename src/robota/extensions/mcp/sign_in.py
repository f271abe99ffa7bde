"""OAuth for MCP servers: sessions use and refresh stored tokens; only `robota mcp login` obtains new ones."""

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

UNUSED_REDIRECT: Final = "http://127.0.0.1/callback"  # the SDK requires one


class SignInNeeded(Exception):
    """The server rejects the stored tokens, or there are none."""


class Browser(msgspec.Struct, frozen=True, kw_only=True):
    """How the user signs in: `go_to` shows the authorization URL, `come_back` waits for the redirect."""

    redirect_to: str
    go_to: Callable[[str], Awaitable[None]]
    come_back: Callable[[], Awaitable[AuthorizationCodeResult]]


def stored_sign_in(name: str, url: str, store: SignInStore) -> OAuthClientProvider | None:
    """Authentication with stored tokens; None if there are none. Requests raise `SignInNeeded` if they are rejected."""
    if store.load(url) is None:
        return None

    async def refuse(address: str) -> None:
        raise SignInNeeded("the sign-in of the user is no longer valid")

    async def never() -> AuthorizationCodeResult:
        raise SignInNeeded(name)

    return _provider(url, store, Browser(redirect_to=UNUSED_REDIRECT, go_to=refuse, come_back=never))


def new_sign_in(url: str, store: SignInStore, browser: Browser) -> OAuthClientProvider:
    """Authentication that lets the user sign in through the browser. Forgets stored tokens first."""
    store.forget(url)
    return _provider(url, store, browser)


def _provider(url: str, store: SignInStore, browser: Browser) -> OAuthClientProvider:
    storage = _Storage(url, store)
    client_metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(browser.redirect_to)], client_name="Robota")
    provider = OAuthClientProvider(url, client_metadata, storage, browser.go_to, browser.come_back)
    storage.provider = provider
    return provider


class _Storage:
    """A `TokenStorage` of the SDK that also stores the expiry and the refresh endpoint, which the SDK does not."""

    provider: OAuthClientProvider

    def __init__(self, url: str, store: SignInStore) -> None:
        self._url = url
        self._store = store

    async def get_tokens(self) -> OAuthToken | None:
        stored = self._stored()
        if stored.tokens is None:
            return None
        try:
            if stored.metadata is not None:
                self.provider.context.oauth_metadata = OAuthMetadata.model_validate(stored.metadata)
            tokens = OAuthToken.model_validate(stored.tokens)
        except ValidationError:
            return None
        self.provider.context.token_expiry_time = stored.expires_at
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        metadata = self.provider.context.oauth_metadata
        new = {
            "tokens": tokens.model_dump(mode="json", exclude_none=True),
            "expires_at": self.provider.context.token_expiry_time,
            "metadata": None if metadata is None else metadata.model_dump(mode="json", exclude_none=True),
        }
        self._store.change(self._url, lambda before: msgspec.structs.replace(before, **new))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = self._stored().client
        try:
            return None if client is None else OAuthClientInformationFull.model_validate(client)
        except ValidationError:
            return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        client = client_info.model_dump(mode="json", exclude_none=True)
        self._store.change(self._url, lambda before: msgspec.structs.replace(before, client=client))

    def _stored(self) -> SignIn:
        return self._store.load(self._url) or SignIn(url=self._url)

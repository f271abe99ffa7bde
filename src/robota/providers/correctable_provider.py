"""A provider that reads its profile again after a failed request, so that the user can correct it."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.providers.chunks import Chunk, ModelRequest
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.registry import KnownProviders, open_provider


class CorrectableProvider:
    """Wraps the provider of a profile. `reread` returns the current profile, or raises `ConfigError`.

    Until a request fails, `stream` is that of the wrapped provider, without overhead.
    """

    def __init__(self, profile: Profile, reread: Callable[[], Profile], known: KnownProviders) -> None:
        self._first_model = profile.model
        self._profile = profile
        self._reread = reread
        self._known = known
        self._provider = open_provider(profile, known)
        self._has_failed = False
        self.stream: Callable[[ModelRequest], AsyncIterator[Sequence[Chunk]]] = self._provider.stream

    def note_fault(self) -> None:
        """A request failed: read the profile again before the next one."""
        self._has_failed = True
        self.stream = self._stream_corrected

    async def close(self) -> None:
        """Close the provider."""
        await self._provider.close()

    async def _stream_corrected(self, request: ModelRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """Stream a reply with the current profile, which may name another model."""
        if self._has_failed:
            await self._apply_correction()
            self._has_failed = False
        if request.model == self._first_model and self._profile.model is not None:
            request = msgspec.structs.replace(request, model=self._profile.model)
        reply = self._provider.stream(request)
        try:
            async for batch in reply:
                yield batch
        finally:
            # Closing this generator must close the request at once, not when it is garbage-collected.
            close = getattr(reply, "aclose", None)
            if close is not None:
                await close()

    async def _apply_correction(self) -> None:
        try:
            profile = self._reread()
            if profile == self._profile:
                return
            corrected = open_provider(profile, self._known)
        except ConfigError as error:
            raise ProviderFault(FaultKind.INVALID_REQUEST, str(error)) from error
        before, self._provider, self._profile = self._provider, corrected, profile
        await before.close()

"""A provider whose profile can be corrected while the session runs: it is read again after a request that failed."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.providers.chunks import Chunk, ModelRequest
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.registry import open_provider


class CorrectableProvider:
    """Answers as the profile says. `reread` gives the profile as the settings have it now, or raises `ConfigError`.

    Until a request fails, `stream` is that of the provider itself.
    """

    def __init__(self, profile: Profile, reread: Callable[[], Profile]) -> None:
        self._first_model = profile.model
        self._profile = profile
        self._reread = reread
        self._provider = open_provider(profile)
        self._has_failed = False
        self.stream: Callable[[ModelRequest], AsyncIterator[Sequence[Chunk]]] = self._provider.stream

    def note_fault(self) -> None:
        """A request has failed: before the next one the profile is read again."""
        self._has_failed = True
        self.stream = self._corrected

    async def close(self) -> None:
        """Close the provider."""
        await self._provider.close()

    async def _corrected(self, request: ModelRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """The reply of the corrected profile, also where that names another model."""
        if self._has_failed:
            await self._take_correction()
            self._has_failed = False
        if request.model == self._first_model and self._profile.model is not None:
            request = msgspec.structs.replace(request, model=self._profile.model)
        reply = self._provider.stream(request)
        try:
            async for batch in reply:
                yield batch
        finally:
            # Closing us must drop the request below at once, not when it is collected.
            close = getattr(reply, "aclose", None)
            if close is not None:
                await close()

    async def _take_correction(self) -> None:
        try:
            profile = self._reread()
            if profile == self._profile:
                return
            corrected = open_provider(profile)
        except ConfigError as error:
            raise ProviderFault(FaultKind.INVALID_REQUEST, str(error)) from error
        before, self._provider, self._profile = self._provider, corrected, profile
        await before.close()

"""What a session knows of the code of its workspace."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from robota.config.paths import user_directory

if TYPE_CHECKING:
    # Imported with the first question about code.
    from robota.config.settings.load import Settings
    from robota.workspace.code.session_code import SessionCode
    from robota.workspace.files.files import LocalFiles
    from robota.workspace.language_servers.session_servers import LanguageServers
    from robota.workspace.process.processes import LocalProcesses

# In the directory of the user.
KEPT_IN: Final = "code"


class CodeOnDemand:
    """The service that answers questions about code, made for the first of them."""

    def __init__(
        self, settings: "Settings", files: "LocalFiles", processes: "LocalProcesses", env: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._files = files
        self._processes = processes
        self._env = env
        self.asked: SessionCode | None = None

    def __call__(self) -> "SessionCode":
        """The service."""
        if self.asked is None:
            from robota.workspace.code.reading_code import ReadingCode
            from robota.workspace.code.session_code import SessionCode

            reading = ReadingCode(self._files, self._is_hidden, user_directory(self._env) / KEPT_IN)
            self.asked = SessionCode(self._files, reading, self._servers())
        return self.asked

    async def close(self) -> None:
        """End what it started."""
        if self.asked is not None:
            await self.asked.close()

    def _servers(self) -> "LanguageServers | None":
        if self._settings.values.code.language_servers == "off":
            return None
        from robota.workspace.language_servers.catalogue import SERVERS
        from robota.workspace.language_servers.session_servers import LanguageServers

        return LanguageServers(
            self._files,
            self._is_hidden,
            self._processes,
            SERVERS,
            environment=self._env,
            is_trusted=self._settings.is_trusted,
        )

    def _is_hidden(self, path: str) -> bool:
        return self._files.is_ignored(path) or self._files.is_secret(path)

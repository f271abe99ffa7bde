"""The files of an editor: what it has not saved is read and written there."""

import msgspec

from robota.clients.acp.connection import AcpConnection, RpcError
from robota.clients.acp.received import ReadResult


class AcpFiles:
    """The `EditorFiles` of one session."""

    def __init__(self, connection: AcpConnection) -> None:
        self._connection = connection
        self.session_id = ""  # known once the session is open

    async def read(self, path: str) -> str | None:
        try:
            result = await self._connection.request("fs/read_text_file", {"sessionId": self.session_id, "path": path})
            return msgspec.convert(result, ReadResult).content
        except (RpcError, msgspec.ValidationError):
            return None

    async def write(self, path: str, text: str) -> str | None:
        params = {"sessionId": self.session_id, "path": path, "content": text}
        try:
            await self._connection.request("fs/write_text_file", params)
        except RpcError as error:
            return str(error)
        return None

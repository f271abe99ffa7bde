"""A copy of the conversation for the session store of the program, in the form of Claude Code's transcripts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from robota.clients.control.connection import ControlConnection
from robota.clients.headless.options import ShowCall
from robota.clients.headless.result import new_uuid, reply_uuid
from robota.clients.headless.stream_json import assistant_message, tool_result
from robota.protocol.conversation import AssistantTurn, ToolResultBlock
from robota.version import VERSION


class TranscriptMirror:
    """Sends each part of the conversation as a line of a transcript. What agents say is not part of it."""

    def __init__(
        self, connection: ControlConnection, place: tuple[str, str, str], show_call: ShowCall, parent: str | None
    ) -> None:
        """`place` is the path of the transcript, the id of the session and its directory.

        `parent` is the id of the last line that was sent before.
        """
        self._connection = connection
        self._path, self._session_id, self._cwd = place
        self._show_call = show_call
        self._parent = parent

    def prompt(self, uuid: str, text: str) -> None:
        """A prompt of the program."""
        self._send("user", uuid, {"role": "user", "content": text})

    def reply(self, reply: AssistantTurn) -> None:
        """A reply of the model."""
        self._send("assistant", reply_uuid(self._session_id, reply.id), assistant_message(reply, None, self._show_call))

    def results(self, results: Sequence[ToolResultBlock]) -> None:
        """The results of its calls."""
        content = [tool_result(result) for result in results]
        self._send("user", new_uuid(), {"role": "user", "content": content})

    def _send(self, kind: str, uuid: str, message: dict[str, Any]) -> None:
        entry = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self._parent,
            "sessionId": self._session_id,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "cwd": self._cwd,
            "version": VERSION,
            "isSidechain": False,
            "userType": "external",
            "message": message,
        }
        self._parent = uuid
        self._connection.send({"type": "transcript_mirror", "filePath": self._path, "entries": [entry]})

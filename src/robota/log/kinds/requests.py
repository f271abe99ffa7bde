"""Records of what model requests contain in addition to the turns: system prompt, tools, model."""

from typing import ClassVar

from robota.log.record import Payload, record_kind


@record_kind("content")
class ContentRecord(Payload, frozen=True, kw_only=True):
    """A text that other records refer to by its hash; a log contains each text once.

    `hash` is the artifact name for this content. A large text is stored as that artifact, and `text` is absent.
    """

    outlives_rewind: ClassVar[bool] = True

    hash: str
    text: str | None = None


@record_kind("request")
class RequestRecord(Payload, frozen=True, kw_only=True):
    """The parameters of a task's requests from here on, until the next such record.

    `system` and `tools` are hashes of contents: the system prompt, and the JSON array of the offered tools. At
    `condense_at` tokens the conversation is condensed, and above `input_room` some of it is omitted. Logs of older
    versions have neither these nor the window; then they are 0.
    """

    outlives_rewind: ClassVar[bool] = True

    task_id: str
    model: str
    system: str
    tools: str
    context_window: int = 0
    condense_at: int | None = None
    input_room: int = 0

"""Records of what requests to a model are made of besides the turns: system prompt, tools, model."""

from typing import ClassVar

from robota.log.record import Payload, record_kind


@record_kind("content")
class ContentRecord(Payload, frozen=True, kw_only=True):
    """A text that other records name by its hash; a log holds each text once.

    `hash` is the name that an artifact of this content has. A large text is such an artifact, and `text` is absent.
    """

    outlives_rewind: ClassVar[bool] = True

    hash: str
    text: str | None = None


@record_kind("request")
class RequestRecord(Payload, frozen=True, kw_only=True):
    """The requests of a task from here on, until its next such record, are made with these.

    `system` and `tools` are hashes of contents: the system prompt, and the JSON array of the tools that are offered.
    The conversation may have `condense_at` tokens before it is condensed, and `input_room` before some of it is left
    out. A log of an older version knows neither that nor the window, which are 0 then.
    """

    outlives_rewind: ClassVar[bool] = True

    task_id: str
    model: str
    system: str
    tools: str
    context_window: int = 0
    condense_at: int | None = None
    input_room: int = 0

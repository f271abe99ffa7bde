"""The services that a session works with."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from robota.contracts.hook import Checkpoint, SessionHooks
from robota.contracts.services import ModeService, PolicyService, ToolService
from robota.contracts.workspace import Files, Processes
from robota.engine.record.journal import LogPort
from robota.providers.chunks import Provider
from robota.providers.definition import ModelInfo
from robota.providers.retry import RetryPolicy
from robota.secrets.redaction import Redactor

if TYPE_CHECKING:
    from robota.contracts.knowledge import (
        ExpandMentions,
        InstructionService,
        KnowledgeService,
        MemoryService,
        PromptService,
    )
    from robota.contracts.rewind import RewindService


class ModelAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The model of a session: who answers, what is known of it, and how failed requests are tried again.

    `note_fault` is called when a request has failed, before it is tried again.
    """

    provider: Provider
    note_fault: Callable[[], None]
    info: ModelInfo
    api_protocol: str
    retry: RetryPolicy
    random: Callable[[], float]


class SessionServices(msgspec.Struct, frozen=True, kw_only=True):
    """What a session works with. `redactor` covers secrets in what clients see; `rewind` makes what goes back.

    `retell_news` gives what the model is told in place of the news about its surroundings, in a session that is run
    again.
    """

    log: LogPort
    model: ModelAccess
    tools: ToolService
    policy: PolicyService
    modes: ModeService
    files: Files
    processes: Processes
    hooks: SessionHooks = SessionHooks()
    checkpoint: Checkpoint | None = None
    knowledge: "KnowledgeService | None" = None
    prompts: "PromptService | None" = None
    instructions: "InstructionService | None" = None
    memory: "MemoryService | None" = None
    mentions: "ExpandMentions | None" = None
    rewind: "Callable[[], RewindService] | None" = None
    retell_news: Callable[[str], str] | None = None
    redactor: Redactor = msgspec.field(default_factory=Redactor)

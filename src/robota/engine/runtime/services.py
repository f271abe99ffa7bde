"""The services that a session works with."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from robota.contracts.code import CodeAccess
from robota.contracts.hook import Checkpoint, SessionHooks
from robota.contracts.services import ModeService, PolicyService, ToolService
from robota.contracts.workspace import CommandReach, Files, KnownReach, Processes
from robota.engine.record.journal import LogPort
from robota.providers.chunks import Provider
from robota.providers.definition import ModelInfo
from robota.providers.pricing import Price
from robota.providers.retry import RetryPolicy
from robota.secrets.redaction import Redactor

if TYPE_CHECKING:
    from robota.contracts.confinement import ConfinementService
    from robota.contracts.knowledge import (
        ExpandMentions,
        InstructionService,
        KnowledgeService,
        MemoryService,
        PromptService,
    )
    from robota.contracts.rewind import RewindService
    from robota.engine.budgets.session_budget import BudgetPlan
    from robota.engine.runtime.agent_service import AgentService


class ModelAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The model of a session: its provider, its facts, and how failed requests are retried.

    `note_fault` is called when a request has failed, before the retry. `price_of` is the price of a model by its name.
    """

    provider: Provider
    note_fault: Callable[[], None]
    info: ModelInfo
    api_protocol: str
    retry: RetryPolicy
    random: Callable[[], float]
    price_of: Callable[[str], Price | None] = lambda model: None


class SessionServices(msgspec.Struct, frozen=True, kw_only=True):
    """The services of a session. `redactor` masks secrets in what clients see; `rewind` creates the rewind service,
    `code` with its first call the one that answers questions about code.

    `replay_environment` replaces the environment details in a replayed session by those of the recording. `budgets` are
    the limits of the session; None without any.
    """

    log: LogPort
    model: ModelAccess
    tools: ToolService
    policy: PolicyService
    modes: ModeService
    files: Files
    processes: Processes
    code: CodeAccess
    reach: KnownReach = msgspec.field(default_factory=lambda: KnownReach(CommandReach()))
    hooks: SessionHooks = SessionHooks()
    checkpoint: Checkpoint | None = None
    confinement: "ConfinementService | None" = None
    knowledge: "KnowledgeService | None" = None
    prompts: "PromptService | None" = None
    instructions: "InstructionService | None" = None
    memory: "MemoryService | None" = None
    mentions: "ExpandMentions | None" = None
    rewind: "Callable[[], RewindService] | None" = None
    agents: "AgentService | None" = None
    budgets: "BudgetPlan | None" = None
    replay_environment: Callable[[str], str] | None = None
    redactor: Redactor = msgspec.field(default_factory=Redactor)

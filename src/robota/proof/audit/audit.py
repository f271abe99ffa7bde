"""The audit of a project: its sessions, whether their logs are as they were written, and the trace of changes."""

import msgspec

from robota.proof.audit.session_account import SessionAccount


class Soundness(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a log or a trace is as it was written. `problem` is empty if so; `noted`: this machine can tell."""

    records: int
    problem: str = ""
    noted: bool = True


class AuditedSession(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A session with its account. `is_own`: it was written on this machine."""

    id: str
    title: str
    first_ms: int
    last_ms: int
    model: str
    provider: str
    permission_mode: str
    is_own: bool
    chain: Soundness
    account: SessionAccount


class Audit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All of it. `trace` is None where no intents are kept. `unread` are logs that could not be read, and why."""

    project: str
    made_ms: int
    since_ms: int
    sessions: tuple[AuditedSession, ...]
    trace: Soundness | None = None
    unread: dict[str, str] = {}

    @property
    def is_sound(self) -> bool:
        """Whether everything could be read and is as it was written."""
        chains = not any(each.chain.problem for each in self.sessions)
        return chains and not self.unread and (self.trace is None or not self.trace.problem)

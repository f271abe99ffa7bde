"""The data of an audit: the sessions of a project and the integrity of their logs and of the agent trace."""

import msgspec

from robota.proof.audit.session_account import SessionAccount


class Soundness(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The integrity of a log or trace: `problem` is empty if it is intact; `noted`: this machine has noted its end."""

    records: int
    problem: str = ""
    noted: bool = True


class AuditedSession(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A session with its account. `is_own`: the log was written on this machine."""

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
    """The whole audit. `trace` is None without intents. `unread` are logs that could not be read, with the reason."""

    project: str
    made_ms: int
    since_ms: int
    sessions: tuple[AuditedSession, ...]
    trace: Soundness | None = None
    unread: dict[str, str] = {}

    @property
    def is_sound(self) -> bool:
        """Whether everything could be read and is intact."""
        chains = not any(each.chain.problem for each in self.sessions)
        return chains and not self.unread and (self.trace is None or not self.trace.problem)

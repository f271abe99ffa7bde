"""Finds the worktree of an agent in the logs of a project."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from robota.commands.verb import VerbFailed
from robota.commands.verb_host import VerbHost
from robota.config.paths import user_directory
from robota.log.kinds.agents import AgentEntry, AgentsRecord, AgentWorktree
from robota.log.record import RecordFlaw, payload_as, unseal
from robota.log.store import fallback_directory, list_sessions

MARK: Final = b'"kind":"agents"'


def worktree_of(host: VerbHost, wanted: str) -> AgentWorktree:
    """The worktree of the newest agent of that name. Raises `VerbFailed`."""
    found: dict[str, AgentWorktree] = {}
    sessions = list_sessions(host.kept_in, fallback_directory(user_directory(host.env), host.kept_in))
    for session in sessions:
        for entry in _agents_in(session.directory / "log.jsonl"):
            if entry.worktree is not None and Path(entry.worktree.path).is_dir():
                found.setdefault(entry.session_id, entry.worktree)
    fitting = [
        worktree
        for id, worktree in found.items()
        if id.startswith(wanted) or id.endswith(f".{wanted}") or Path(worktree.path).name.startswith(wanted)
    ]
    if len(fitting) == 1:
        return fitting[0]
    names = "; ".join(f"{Path(worktree.path).name} ({id})" for id, worktree in found.items())
    available = f"Agents with changes in a worktree: {names}." if found else "No agent has left a worktree here."
    which = "fits several agents" if fitting else "is no agent with a worktree"
    raise VerbFailed(f"{wanted!r} {which}. Nothing was changed. {available}")


def _agents_in(log: Path) -> Iterator[AgentEntry]:
    """The agents that the log of a session has last noted. Other lines are not decoded."""
    newest: dict[str, AgentsRecord] = {}
    try:
        with log.open("rb") as stream:
            for line in stream:
                record = unseal(line.rstrip(b"\n")) if MARK in line else RecordFlaw.BAD_JSON
                agents = None if isinstance(record, RecordFlaw) else payload_as(AgentsRecord, record)
                if agents is not None:
                    newest[agents.task_id] = agents
    except OSError:
        return
    for agents_of_task in newest.values():
        yield from agents_of_task.agents

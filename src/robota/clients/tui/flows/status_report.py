"""The JSON input of a status command, in the format of Claude Code, without unknown values."""

from typing import Any, Final

import msgspec

from robota.clients.view.model import ViewModel

LARGE_CONTEXT: Final = 200_000


class StatusTimes(msgspec.Struct, frozen=True, kw_only=True):
    """What only a running client knows: the duration of the session and of its requests, and the changed lines."""

    total_ms: int = 0
    requests_ms: int = 0
    lines_added: int = 0
    lines_removed: int = 0


class RequestUsage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The token counts in the row of a finished request; the input includes cached tokens."""

    tokens_in: int | None = None
    tokens_out: int = 0
    cache_writes: int = 0
    cache_reads: int = 0


class StatusWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """The session's own git worktree, and what it was created from."""

    name: str
    path: str
    branch: str
    original_cwd: str
    original_branch: str


def status_report(
    view: ViewModel, version: str, times: StatusTimes, worktree: StatusWorktree | None = None
) -> dict[str, Any]:
    """The report for a status command. Empty before the session is known."""
    session = view.session
    if session is None:
        return {}
    report: dict[str, Any] = {
        "session_id": session.session_id,
        "transcript_path": session.log_path,
        "cwd": session.cwd,
        "version": version,
        "model": {"id": session.model, "display_name": session.model},
        "workspace": {"current_dir": session.cwd, "project_dir": session.cwd, "added_dirs": []},
        "output_style": {"name": session.output_style or "default"},
        "cost": {
            "total_cost_usd": view.usage.total_cost,
            "total_duration_ms": times.total_ms,
            "total_api_duration_ms": times.requests_ms,
            "total_lines_added": times.lines_added,
            "total_lines_removed": times.lines_removed,
        },
        "permission_mode": session.permission_mode.value,
        "sandbox": session.sandbox,
        "exceeds_200k_tokens": view.usage.context_tokens > LARGE_CONTEXT,
    }
    if session.name:
        report["session_name"] = session.name
    if worktree is not None:
        report["worktree"] = msgspec.to_builtins(worktree)
    if view.context is not None and view.context.max_tokens:
        used = view.context.used_percentage
        report["context_window"] = {
            "total_input_tokens": view.usage.total_tokens_in,
            "total_output_tokens": view.usage.total_tokens_out,
            "context_window_size": view.context.max_tokens,
            "used_percentage": used,
            "remaining_percentage": max(0.0, 100.0 - used),
            "current_usage": _newest_usage(view),
        }
    return report


def _newest_usage(view: ViewModel) -> dict[str, int] | None:
    """The usage of the newest finished request, with cached tokens listed separately; None if there is none."""
    for row in reversed(view.rows):
        if row.say != "api_req_started":
            continue
        try:
            used = msgspec.json.decode(row.text or "", type=RequestUsage)
        except msgspec.MsgspecError:
            return None
        if used.tokens_in is not None:
            written, read = used.cache_writes, used.cache_reads
            return {
                "input_tokens": max(0, used.tokens_in - written - read),
                "output_tokens": used.tokens_out,
                "cache_creation_input_tokens": written,
                "cache_read_input_tokens": read,
            }
    return None

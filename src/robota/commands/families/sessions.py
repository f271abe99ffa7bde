"""The verbs of stored sessions. `commands/sessions` carries them out."""

import errno
from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec

from robota.commands.verb import CONFIGURATION, FAILED, USAGE, Failure, Family, ReadingVerb, ShellVerb, Verb
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Count, Option, Positional, ShellOption
from robota.log.errors import SessionAmbiguous, SessionNotFound
from robota.protocol.slash_commands import SubcommandInfo

SESSION: Final = "session id, id prefix, name, or words of its first prompt"
WORDS: Final = 'words that must all occur; "quoted phrase" for words in order, prefix* for word beginnings'


def _ids(host: VerbHost) -> Iterable[SubcommandInfo]:
    from robota.commands.sessions.selection import session_ids

    return session_ids(host)


class InProjects(msgspec.Struct, frozen=True, kw_only=True):
    """In which projects sessions are looked for."""

    all: Annotated[bool, Option("include the sessions of all projects")] = False


class OneSession(InProjects, frozen=True, kw_only=True):
    """A session."""

    session: Annotated[str, Positional("SESSION", SESSION, _ids)]


class OneOrNewest(InProjects, frozen=True, kw_only=True):
    """A session, or the newest."""

    session: Annotated[str | None, Positional("SESSION", f"{SESSION} (default: the newest)", _ids)] = None


class ListSessions(InProjects, frozen=True, kw_only=True):
    """How many sessions are listed."""

    limit: Annotated[Count | None, Option("show only the newest N", "N")] = None


class ShowSession(OneOrNewest, frozen=True, kw_only=True):
    """A conversation, and how much of it."""

    last: Annotated[Count | None, Option("show only the last N entries", "N")] = None
    output: Annotated[bool, Option("show the full output of every call, not only its end")] = False
    no_pager: Annotated[bool, ShellOption("do not use a pager")] = False


class SearchSessions(InProjects, frozen=True, kw_only=True):
    """The search words."""

    words: Annotated[tuple[str, ...], Positional("WORD", WORDS)] = ()
    since: Annotated[str | None, Option("only sessions active since then: 7d, 12h, 2026-10-31", "TIME")] = None
    file: Annotated[str | None, Option("only sessions with a tool call on this file", "PATH")] = None
    tool: Annotated[str | None, Option("only sessions that used this tool", "NAME")] = None
    model: Annotated[str | None, Option("only sessions with a model whose name contains this", "NAME")] = None
    limit: Annotated[Count, Option("at most N sessions (default: 20)", "N")] = 20


class RenameSession(OneSession, frozen=True, kw_only=True):
    """A session and its new name."""

    name: Annotated[str, Positional("NAME", "the new name; an empty one removes the name")]


class ForkSession(OneSession, frozen=True, kw_only=True):
    """A session to copy."""

    at: Annotated[
        Count | None, Option("copy only up to the end of turn N, as `robota rewind list` numbers them", "N")
    ] = None
    name: Annotated[str | None, Option("name of the new session", "NAME", ("-n",))] = None
    session_id: Annotated[str | None, Option("id of the new session", "ID")] = None


class ExportSession(OneOrNewest, frozen=True, kw_only=True):
    """A session to export, and how."""

    format: Annotated[Literal["markdown", "html", "stream-json", "bundle"], Option("default: markdown")] = "markdown"
    output: Annotated[
        str | None, Option("file to write (default: standard output; required for a bundle)", "FILE", ("-o",))
    ] = None
    force: Annotated[bool, Option("overwrite an existing file")] = False
    redact: Annotated[bool, Option("do not redact user names, paths and secrets")] = True


class ImportSessions(InProjects, frozen=True, kw_only=True):
    """The files to import."""

    files: Annotated[tuple[str, ...], Positional("FILE", "file to import; its format is detected")]


class WatchSession(OneOrNewest, frozen=True, kw_only=True):
    """A session to follow."""

    from_start: Annotated[bool, Option("show the whole conversation first, not only the end")] = False


class DeleteSession(OneSession, frozen=True, kw_only=True):
    """A session to delete."""

    undo: Annotated[bool, Option("restore it from the trash")] = False


class PruneSessions(InProjects, frozen=True, kw_only=True):
    """Which deleted sessions are removed for good."""

    older_than: Annotated[str | None, Option("only sessions deleted longer ago than this: 30d, 12h, 2w", "AGE")] = None
    dry_run: Annotated[bool, Option("show what would be removed")] = False


class VerifySession(InProjects, frozen=True, kw_only=True):
    """A session whose log is checked."""

    session: Annotated[str | None, Positional("SESSION", f"{SESSION}; or a path (default: the newest)", _ids)] = None


def _explain(error: Exception) -> Failure:
    if isinstance(error, SessionAmbiguous | SessionNotFound):
        return Failure(str(error), USAGE if isinstance(error, SessionAmbiguous) else CONFIGURATION)
    if not isinstance(error, OSError):
        return Failure(str(error), FAILED)
    if error.filename is None and error.errno in (errno.EPIPE, errno.ENOSPC):
        raise error  # standard output, not a log
    file = "" if error.filename is None else f" ({error.filename})"
    return Failure(f"{error.strerror or error}{file}. The logs were not changed; check the disk.", FAILED)


FAMILY: Final = Family(
    name="sessions",
    about="Manage the sessions of this workspace, or of all workspaces.",
    description="list, search, show and manage stored sessions",
    default="list",
    problems=(OSError,),
    explain=_explain,
    verbs=(
        ReadingVerb("list", "list sessions, newest first", ListSessions, "sessions.listing:list_sessions"),
        ReadingVerb("show", "print a whole conversation", ShowSession, "sessions.reading:show_session"),
        ReadingVerb(
            "search",
            "search sessions by content, file, tool or model",
            SearchSessions,
            "sessions.searching:search_sessions",
        ),
        Verb("rename", "rename a session", RenameSession, "sessions.changing:rename_session"),
        Verb("fork", "start a new session as a copy of another", ForkSession, "sessions.changing:fork_session"),
        Verb(
            "export",
            "export a session as Markdown, HTML, JSON or a bundle",
            ExportSession,
            "sessions.exporting:export_session",
        ),
        Verb(
            "import",
            "import a bundle, or a transcript of Claude Code or Codex",
            ImportSessions,
            "sessions.changing:import_sessions",
        ),
        ShellVerb(
            "watch",
            "follow a session that is running in another process",
            WatchSession,
            "sessions.reading:watch_session",
            reason="it prints until that session ends",
        ),
        Verb("delete", "move a session to the trash", DeleteSession, "sessions.changing:delete_or_restore"),
        Verb("prune", "empty the trash; nothing else is ever removed", PruneSessions, "sessions.changing:prune_trash"),
        ReadingVerb(
            "verify", "check that the log of a session is intact", VerifySession, "sessions.verifying:verify_session"
        ),
    ),
)

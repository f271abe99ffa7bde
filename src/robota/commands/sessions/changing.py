"""Renames, forks, imports, deletes and prunes stored sessions."""

import os
import time
import zipfile
from pathlib import Path
from typing import Any, Final

from robota.commands.families.sessions import DeleteSession, ForkSession, ImportSessions, PruneSessions, RenameSession
from robota.commands.sessions.listing import age
from robota.commands.sessions.searching import age_ms
from robota.commands.sessions.selection import named_session, own_directory, project_of, session_places
from robota.commands.verb import Answer, shown, told
from robota.commands.verb_host import VerbHost
from robota.config.paths import user_directory
from robota.log.catalogue.places import session_directories
from robota.log.catalogue.trash import (
    TrashedSession,
    delete_session,
    find_trashed,
    left_drafts,
    remove_for_good,
    trashed_sessions,
    undelete_session,
)
from robota.log.chain.writer import wall_clock_ms
from robota.log.derived_file import drop_stale
from robota.log.errors import ImportRefused, LogError, LogInUse, SessionNotFound
from robota.log.kinds.session import NameRecord, kept_name
from robota.log.new_session import SESSION_ID_BYTES
from robota.log.reopening import open_to_add, refuse_newer
from robota.log.search.search import forget_removed
from robota.log.snapshot_keeper import SNAPSHOTS, drop_snapshot, rewind_index_path
from robota.log.store import is_valid_session_id, new_session_id, session_directory
from robota.log.transfer.draft import DraftSession
from robota.protocol.views import TableView
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.text.visible import single_line

# A fork or an import never takes this long.
DRAFT_MS: Final = 24 * 3_600_000


async def rename_session(host: VerbHost, args: RenameSession) -> Answer:
    """Append the new name to the log, which keeps the earlier names."""
    session = named_session(host, args.session, everywhere=args.all)
    refuse_newer(session.directory, session.summary.header)
    name = kept_name(args.name)
    try:
        log = open_to_add(session.directory, own_directory(host.env), _redactor(host))
    except LogInUse as error:
        raise LogInUse(f"The session {session.id} is running; its name was not changed. Close it first.") from error
    try:
        log.append(NameRecord(name=name))
        await log.sync()
    finally:
        log.close()
    text = f"{session.id} " + (f"is now called {single_line(name)}" if name else "has no name anymore") + "."
    return told(text, {"id": session.id, "name": name})


def fork_session(host: VerbHost, args: ForkSession) -> Answer:
    """Make a new session from the beginning of another one, which stays unchanged."""
    from robota.log.transfer.fork import fork_of, write_fork

    session = named_session(host, args.session, everywhere=args.all)
    now_ms = wall_clock_ms()
    new_id = args.session_id or new_session_id(now_ms, os.urandom(SESSION_ID_BYTES))
    user = user_directory(host.env)
    fork = fork_of(session.directory, args.at, rewind_index_path(user, session.directory))
    with DraftSession(project_of(host), user, new_id, _redactor(host)) as draft:
        write_fork(draft, fork, new_id, kept_name(args.name), now_ms)
        directory = draft.finish()
    text = f"{new_id} is a fork of {session.id}. To continue it: robota --resume {new_id}"
    return told(text, {"id": new_id, "path": str(directory), "origin": session.id, "turn": args.at})


def import_sessions(host: VerbHost, args: ImportSessions) -> Answer:
    """Import each file as a session of this project. A failure does not stop the others."""
    imported: list[dict[str, Any]] = []
    for file in args.files:
        try:
            imported.append(_import(host, host.path(file)))
        except LogError as error:
            host.tell(str(error))
    lines = [
        f"{each['id']} was imported from {each['file']} ({each['source']}). "
        f"To continue it: robota --resume {each['id']}"
        for each in imported
    ]
    is_complete = len(imported) == len(args.files)
    return told("\n".join(lines) or "Nothing was imported.", imported, ok=is_complete)


def _import(host: VerbHost, path: Path) -> dict[str, Any]:
    root, now_ms, user = project_of(host), wall_clock_ms(), user_directory(host.env)
    session_id = new_session_id(now_ms, os.urandom(SESSION_ID_BYTES))
    if not path.is_file():
        raise ImportRefused(f"{path} is not a readable file. Nothing was changed.")
    if zipfile.is_zipfile(path):
        from robota.log.transfer.unbundle import read_manifest, take_in

        manifest = read_manifest(path)
        source, session_id = "bundle", _free_id(root, manifest.session_id) or session_id
        with DraftSession(root, user, session_id, _redactor(host)) as draft:
            notice = take_in(draft, path, manifest, session_id, root, now_ms)
            directory = draft.finish()
    else:
        from robota.log.transfer.foreign.reading import source_of, take_in_transcript

        source = source_of(path)
        with DraftSession(root, user, session_id, _redactor(host)) as draft:
            notice = take_in_transcript(draft, path, source, session_id, root, now_ms)
            directory = draft.finish()
    if notice:
        host.tell(f"{path}: {notice}")
    file = single_line(str(path), 400)
    return {"id": session_id, "path": str(directory), "file": file, "source": source, "notice": notice or None}


def _free_id(root: Path, session_id: str) -> str | None:
    """The original id, if it is free and valid here."""
    is_free = is_valid_session_id(session_id) and not session_directory(root, session_id).exists()
    return session_id if is_free else None


def delete_or_restore(host: VerbHost, args: DeleteSession) -> Answer:
    """Move one session to the trash, or back with `--undo`."""
    if args.undo:
        trashed = find_trashed(trashed_sessions(session_places(host, everywhere=args.all)), args.session)
        directory = undelete_session(trashed)
        return told(f"{trashed.id} was restored.", {"id": trashed.id, "path": str(directory)})
    directory = _directory(host, args)
    trashed = delete_session(directory, wall_clock_ms())
    user = own_directory(host.env)
    if user is not None:
        drop_snapshot(user, directory)
    way_back = f"`robota sessions delete --undo {trashed.id}` restores it"
    text = f"{trashed.id} was moved to the trash. {way_back}, `robota sessions prune` removes it for good."
    return told(text, {"id": trashed.id, "path": str(trashed.directory)})


def _directory(host: VerbHost, args: DeleteSession) -> Path:
    """The directory of the session; one without a log can only be named by its id."""
    try:
        return named_session(host, args.session, everywhere=args.all).directory
    except SessionNotFound:
        for place in session_places(host, everywhere=args.all):
            if args.session in session_directories(place):
                return place.directory / args.session
        raise


def prune_trash(host: VerbHost, args: PruneSessions) -> Answer:
    """Empty the trash, or show what would be deleted."""
    now_ms = time.time_ns() // 1_000_000
    latest = now_ms - age_ms(args.older_than) if args.older_than else now_ms
    places = session_places(host, everywhere=args.all)
    trash = [each for each in trashed_sessions(places) if each.deleted_ms <= latest]
    trash += left_drafts(places, min(latest, now_ms - DRAFT_MS))
    if not args.dry_run:
        _remove(host, trash)
    data = [
        {"id": each.id, "path": str(each.directory), "deletedMs": each.deleted_ms, "removed": not args.dry_run}
        for each in trash
    ]
    if not trash:
        return told("There is nothing to remove from the trash.", data)
    verb = "would be removed" if args.dry_run else "removed"
    rows = ((each.id, _deleted(age(each.deleted_ms, now_ms)), verb) for each in trash)
    return shown(TableView(columns=(), rows=tuple(rows)), data)


def _remove(host: VerbHost, trash: list[TrashedSession]) -> None:
    for each in trash:
        remove_for_good(each)
    user = own_directory(host.env)
    forget_removed(user, host.tell)
    if user is not None:
        drop_stale(user / SNAPSHOTS)


def _deleted(how_long: str) -> str:
    return f"deleted {how_long}" if how_long == "now" else f"deleted {how_long} ago"


def _redactor(host: VerbHost) -> Redactor:
    return Redactor(secret_variables(host.env)) if host.opened is None else host.opened.services.redactor

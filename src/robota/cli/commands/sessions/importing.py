"""`robota sessions import`: import a bundle, or a transcript of another program."""

import argparse
import os
import zipfile
from pathlib import Path
from typing import Any

from robota.cli.commands.sessions.selection import tell
from robota.cli.output import print_json
from robota.config.paths import user_directory
from robota.log.chain.writer import wall_clock_ms
from robota.log.errors import ImportRefused, LogError
from robota.log.new_session import SESSION_ID_BYTES
from robota.log.store import is_valid_session_id, new_session_id, session_directory
from robota.log.transfer.draft import DraftSession
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.text.visible import single_line

REFUSED = 1


def run(options: argparse.Namespace) -> int:
    """Import each file as a session of this project. A failure does not stop the others."""
    taken: list[dict[str, Any]] = []
    for path in options.files:
        try:
            taken.append(_take_in(path, options.cwd.resolve()))
        except LogError as error:
            tell(str(error))
    if options.json:
        print_json(taken)
    else:
        for each in taken:
            print(
                f"{each['id']} was imported from {each['file']} ({each['source']}). "
                f"To continue it: robota --resume {each['id']}"
            )
    return 0 if len(taken) == len(options.files) else REFUSED


def _take_in(path: Path, root: Path) -> dict[str, Any]:
    now_ms = wall_clock_ms()
    redactor = Redactor(secret_variables(os.environ))
    fresh_id = new_session_id(now_ms, os.urandom(SESSION_ID_BYTES))
    user = user_directory(os.environ)
    if not path.is_file():
        raise ImportRefused(f"{path} is not a readable file. Nothing was changed.")
    if zipfile.is_zipfile(path):
        from robota.log.transfer.unbundle import read_manifest, take_in

        manifest = read_manifest(path)
        source, session_id = "bundle", _free_id(root, manifest.session_id) or fresh_id
        with DraftSession(root, user, session_id, redactor) as draft:
            notice = take_in(draft, path, manifest, session_id, root, now_ms)
            directory = draft.finish()
    else:
        from robota.log.transfer.foreign.reading import source_of, take_in_transcript

        source, session_id = source_of(path), fresh_id
        with DraftSession(root, user, session_id, redactor) as draft:
            notice = take_in_transcript(draft, path, source, session_id, root, now_ms)
            directory = draft.finish()
    if notice:
        tell(f"{path}: {notice}")
    file = single_line(str(path), 400)
    return {"id": session_id, "path": str(directory), "file": file, "source": source, "notice": notice or None}


def _free_id(root: Path, session_id: str) -> str | None:
    """The original id, if it is free and valid here."""
    is_free = is_valid_session_id(session_id) and not session_directory(root, session_id).exists()
    return session_id if is_free else None

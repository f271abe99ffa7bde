"""`robota sessions prune`: delete sessions in the trash permanently."""

import argparse
import re
import time
from typing import Final

from robota.cli.commands.sessions.listing import age
from robota.cli.commands.sessions.selection import chosen_places, person_directory, tell
from robota.cli.output import print_columns, print_json
from robota.config.errors import ConfigError
from robota.log.catalogue.trash import TrashedSession, left_drafts, remove_for_good, trashed_sessions
from robota.log.derived_file import drop_stale
from robota.log.search.search import forget_removed
from robota.log.snapshot_keeper import SNAPSHOTS

AGE: Final = re.compile(r"(\d{1,6})([mhdw])")
# A fork or an import never takes this long.
DRAFT_MS: Final = 24 * 3_600_000
UNIT_MS: Final = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def run(options: argparse.Namespace) -> int:
    """Empty the trash, or show what would be deleted."""
    now_ms = time.time_ns() // 1_000_000
    latest = now_ms - age_ms(options.older_than) if options.older_than else now_ms
    places = chosen_places(options)
    chosen = [each for each in trashed_sessions(places) if each.deleted_ms <= latest]
    chosen += left_drafts(places, min(latest, now_ms - DRAFT_MS))
    if not options.dry_run:
        for each in chosen:
            remove_for_good(each)
        forget_removed(person_directory(), tell)
        user = person_directory()
        if user is not None:
            drop_stale(user / SNAPSHOTS)
    if options.json:
        print_json([_json(each, is_removed=not options.dry_run) for each in chosen])
    elif not chosen:
        print("There is nothing to remove from the trash.")
    else:
        verb = "would be removed" if options.dry_run else "removed"
        print_columns([(each.id, _deleted(age(each.deleted_ms, now_ms)), verb) for each in chosen])
    return 0


def _deleted(how_long: str) -> str:
    return f"deleted {how_long}" if how_long == "now" else f"deleted {how_long} ago"


def age_ms(text: str) -> int:
    """Parse a duration such as `30d`; returns milliseconds."""
    found = AGE.fullmatch(text.strip().lower())
    if found is None:
        raise ConfigError(f"{text!r} is not a duration. Use a form such as 45m, 12h, 30d or 2w. Nothing was changed.")
    return int(found[1]) * UNIT_MS[found[2]]


def _json(session: TrashedSession, *, is_removed: bool) -> dict[str, object]:
    return {"id": session.id, "path": str(session.directory), "deletedMs": session.deleted_ms, "removed": is_removed}

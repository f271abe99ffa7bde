"""What sessions that were killed left in a workspace is cleared up when the next one starts.

It runs at every start, so nothing is imported before there is something to do.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from robota.config.paths import user_directory
from robota.workspace.files.drafts import journal_directory, remove_abandoned_drafts
from robota.workspace.sandbox.leftovers import remove_leftovers


def clear_up_after_killed_sessions(root: Path, kept_in: Path, env: Mapping[str, str]) -> list[str]:
    """Undo half-done patches, remove drafts, placeholders and temporary directories. Says what a person should know."""
    remove_leftovers(root, env.get("TMPDIR", ""))
    remove_abandoned_drafts(kept_in)
    journals = journal_directory(user_directory(env), root)
    if not os.path.lexists(journals):
        return []
    from robota.workspace.files.interrupted_changes import undo_interrupted_changes

    return undo_interrupted_changes(root, journals)

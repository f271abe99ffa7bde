"""`robota trust --own`: review the user's own skills, commands, styles and hooks, and what changed in them."""

import time
from collections.abc import Mapping

from robota.cli.questions import Cancelled, at_terminal, confirm
from robota.config.settings.load import load_settings
from robota.config.trust.change_text import change_lines
from robota.config.trust.own_files import note_own, own_changes, own_parts
from robota.text.visible import single_line


def look_at_own(env: Mapping[str, str]) -> bool:
    """Show the changes, and record them as reviewed if the user agrees; returns whether all are reviewed now."""
    parts = own_parts(load_settings(None, env).values.hooks or {}, env)
    changes = own_changes(parts, env)
    if changes is None:
        print("Your own skills, commands, styles and hooks, not reviewed before:")
        print("\n".join(f"  {single_line(part.name, 4096)}" for part in parts) or "  none")
    elif not changes:
        print("Your own skills, commands, styles and hooks have not changed since you last reviewed them.")
        return True
    else:
        print("Differences since you last reviewed them:")
        for change in changes:
            print("\n".join(f"  {line}" for line in change_lines(change)))
    try:
        if at_terminal() and not confirm("Accept these changes?", default=True):
            print("Nothing was saved; robota doctor keeps reporting it. Change or remove what you do not want.")
            return False
    except Cancelled:
        return False
    note_own(parts, env, time.time_ns() // 1_000_000)
    print("Saved in robota.lock. robota doctor reports later changes.")
    return True

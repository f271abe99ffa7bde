"""Open a page in the user's browser."""

from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired
from typing import Final

from robota.workspace.outside_program import chosen_program, run_outside, start_outside

USUAL: Final = ("xdg-open", "open", "wslview", "sensible-browser", "x-www-browser", "gnome-open")
TIMEOUT_S: Final = 20.0


def open_page(address: str, env: Mapping[str, str], workspace: Path) -> bool:
    """Open an address with `$BROWSER` or the program of the desktop, if there is one outside the workspace."""
    for browser in (*env.get("BROWSER", "").split(":"), *USUAL):
        try:
            program = chosen_program(browser.replace("%s", "").rstrip(" &"), env, workspace)
            done = run_outside(
                [*program, address],
                workspace=workspace,
                env=env,
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=DEVNULL,
                timeout=TIMEOUT_S,
            )
        except (OSError, TimeoutExpired):
            continue
        if done.returncode == 0:
            return True
    return False


def start_browser(address: str, env: Mapping[str, str], workspace: Path) -> bool:
    """Open an address without waiting for the program, which may be the browser itself; false if there is none."""
    for browser in (*env.get("BROWSER", "").split(":"), *USUAL):
        try:
            program = chosen_program(browser.replace("%s", "").rstrip(" &"), env, workspace)
            start_outside(
                [*program, address],
                workspace=workspace,
                env=env,
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=DEVNULL,
                start_new_session=True,
            )
        except OSError:
            continue
        return True
    return False

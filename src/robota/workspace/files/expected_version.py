"""Whether a file is still the version that a change was derived from, at the moment of the change."""

import os

from robota.workspace.files.confined_paths import check_regular
from robota.workspace.files.read_tracker import Stamp, stamp_of
from robota.workspace.problems import NotPermitted, Overtaken, changed_just_now


def expected_status(path: str, name: str, parent: int, stamp: Stamp | None, *, is_link: bool = False) -> os.stat_result:
    """The status of the file or link, if it still has this stamp; without one, any that exists."""
    status: os.stat_result | None
    status = os.lstat(name, dir_fd=parent) if is_link else status_for_writing(path, name, parent)
    check_unchanged(path, status, stamp)
    if status is None:
        raise Overtaken
    return status


def check_unchanged(path: str, before: os.stat_result | None, stamp: Stamp | None) -> None:
    """Raise `FileChanged` if the file does not have this stamp any more."""
    if stamp is not None and (before is None or stamp_of(before) != stamp):
        raise changed_just_now(path)


def status_for_writing(path: str, name: str, parent: int) -> os.stat_result | None:
    """The status of a file that may be replaced; None if there is none."""
    try:
        status = os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    check_regular(path, status.st_mode)
    if not status.st_mode & 0o222 or not os.access(name, os.W_OK, dir_fd=parent):
        raise NotPermitted(f"{path!r} is write-protected. It was not changed. Ask the user before changing its mode.")
    return status

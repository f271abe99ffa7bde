"""The facts about a session that a conversation in a terminal needs, wherever the session runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.app.session import OpenSession
from robota.config.settings.schema import SettingsFile
from robota.protocol.permission_mode import PermissionMode

if TYPE_CHECKING:
    from robota.workspace.outside_code.outside_code import OutsideCode


class ShownSession(msgspec.Struct, frozen=True, kw_only=True):
    """Location, model and appearance.

    `code` is known only to the process of the session, which alone may run its status line.
    """

    cwd: Path
    kept_in: Path
    model: str
    permission_mode: PermissionMode
    values: SettingsFile
    code: "OutsideCode | None" = None
    is_past_shown: bool = False


def shown_session(opened: OpenSession) -> ShownSession:
    """A session of this process."""
    return ShownSession(
        cwd=opened.options.cwd,
        kept_in=opened.kept_in,
        model=opened.options.model,
        permission_mode=opened.options.permission_mode,
        values=opened.settings.values,
        code=opened.code,
        is_past_shown=opened.is_past_shown,
    )

"""Whether a permission mode can be chosen in a session, and what choosing it does not change."""

import asyncio
from typing import Final

from robota.engine.runtime.options import Options
from robota.engine.runtime.services import SessionServices
from robota.protocol.commands import Refused
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.confinement import obstacle

CANNOT_CONFINE: Final = "The permission mode confined cannot be used here: {}. The mode is unchanged."
BYPASS_FORBIDDEN: Final = (
    "The settings disable the permission mode bypassPermissions (permissions.disableBypassPermissionsMode). The mode "
    "is unchanged."
)
# The permission mode only changes what is asked. Whether commands are sandboxed is decided when the session starts.
SANDBOX_STAYS: Final = {
    True: "Commands still run in the sandbox, as at the start of the session.",
    False: "Commands still run without a sandbox, as at the start of the session. Start a new session to use one.",
}


async def refusal_of(mode: PermissionMode, options: Options, services: SessionServices) -> Refused | None:
    """Why a mode cannot be chosen, found out for confined by starting a program in the sandbox; None if it can."""
    if mode is PermissionMode.BYPASS and options.settings.permissions.disable_bypass_permissions_mode:
        return Refused(code="forbidden_mode", message=BYPASS_FORBIDDEN)
    if mode is PermissionMode.CONFINED and (problem := await _obstacle_to_confining(services)) is not None:
        return Refused(code="forbidden_mode", message=CANNOT_CONFINE.format(problem))
    return None


async def _obstacle_to_confining(services: SessionServices) -> str | None:
    service = services.confinement
    return "this session has no sandbox" if service is None else obstacle(await asyncio.to_thread(service.facts))

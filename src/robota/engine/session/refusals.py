"""What a session answers when it does not do what was asked of it, or does less."""

from typing import Final

from robota.protocol.commands import Refused

BYPASS_FORBIDDEN: Final = (
    "The settings forbid the permission mode bypassPermissions (permissions.disableBypassPermissionsMode). "
    "The mode is as it was."
)
# A mode that is changed later changes what is asked, never what confines commands: that is settled at the start.
SANDBOX_STAYS: Final = {
    True: "Commands go on running in the sandbox, as when the session began.",
    False: "Commands go on running without a sandbox, as when the session began. Start a new session to have one.",
}
STOPPED: Final = Refused(code="cancelled", message="Stopped before the task began. Nothing was sent to the model.")
PAUSED: Final = Refused(code="task_paused", message="The task is paused. Say first whether it goes on.")
NO_TASK: Final = Refused(code="no_active_task", message="There is no task.")

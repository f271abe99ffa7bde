"""The sandbox for the commands of a session."""

from collections.abc import Mapping
from pathlib import Path

from robota.config.paths import home_directory, user_directory
from robota.config.settings.load import Settings
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.sandbox.session_sandbox import SessionSandbox


def session_sandbox(settings: Settings, root: Path, env: Mapping[str, str]) -> SessionSandbox | None:
    """None where a person switched it off, or lets everything run anyway."""
    values = settings.values
    if not values.sandbox.enabled or values.permissions.default_mode is PermissionMode.BYPASS:
        return None
    return SessionSandbox(
        root,
        home=home_directory(env),
        secrets=(user_directory(env),),
        network=values.sandbox.network,
        allowed_hosts=values.sandbox.allowed_hosts,
    )

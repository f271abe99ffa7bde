"""The options of a session as an editor shows them: permission mode, task mode, model, effort."""

from typing import Any, Final

import msgspec

from robota.clients.acp.content import AcpValue
from robota.protocol.events import SessionState
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.slash_commands import CommandChoice

PERMISSIONS: Final = "permissions"
MODEL: Final = "model"
# The slash command behind each option, and its category.
CATEGORIES: Final = {PERMISSIONS: "mode", "mode": "_task_mode", MODEL: "model", "effort": "thought_level"}
NAMES: Final = {PERMISSIONS: "Permissions", "mode": "Mode", MODEL: "Model", "effort": "Effort"}
DESCRIPTIONS: Final = {
    PermissionMode.PLAN: "Read only: nothing is changed",
    PermissionMode.DEFAULT: "Ask before changes and commands",
    PermissionMode.ACCEPT_EDITS: "Edit files of the workspace without asking",
    PermissionMode.CONFINED: "Also run commands that the sandbox confines and that can be undone",
    PermissionMode.BYPASS: "Never ask; only hard denials apply",
}


class ModeInfo(AcpValue, frozen=True, kw_only=True):
    """A permission mode."""

    id: str
    name: str
    description: str


class ModeState(AcpValue, frozen=True, kw_only=True):
    """The permission modes, and the present one."""

    current_mode_id: str
    available_modes: tuple[ModeInfo, ...]


class OptionValue(AcpValue, frozen=True, kw_only=True):
    """A value that an option can have."""

    value: str
    name: str
    description: str | None = None


class ConfigOption(AcpValue, frozen=True, kw_only=True, tag_field="type", tag="select"):
    """An option with its values."""

    id: str
    name: str
    category: str
    current_value: str
    options: tuple[OptionValue, ...]


def modes_of(state: SessionState) -> ModeState:
    """The permission modes that can work in a session."""
    usable = [each for each in PermissionMode if each is not PermissionMode.CONFINED or state.can_confine]
    return ModeState(
        current_mode_id=state.permission_mode,
        available_modes=tuple(ModeInfo(id=each, name=each, description=DESCRIPTIONS[each]) for each in usable),
    )


def option_of(option_id: str, choice: CommandChoice, current: str | None = None) -> ConfigOption | None:
    """A choice of a slash command as an option; None if there is nothing to choose."""
    prefix = f"/{option_id} "
    chosen = next((each.label for each in choice.options if each.is_current), current)
    values = [
        OptionValue(value=each.label, name=each.label, description=each.detail or None)
        for each in choice.options
        if each.line == prefix + each.label and each.label != "rules"
    ]
    if chosen is None:
        return None
    if all(each.value != chosen for each in values):
        values.insert(0, OptionValue(value=chosen, name=chosen))
    return ConfigOption(
        id=option_id,
        name=NAMES[option_id],
        category=CATEGORIES[option_id],
        current_value=chosen,
        options=tuple(values),
    )


def session_fields(state: SessionState, options: tuple[ConfigOption, ...]) -> dict[str, Any]:
    """What a new or loaded session can be set to."""
    return {"modes": msgspec.to_builtins(modes_of(state)), "configOptions": msgspec.to_builtins(options)}

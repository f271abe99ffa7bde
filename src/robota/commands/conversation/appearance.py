"""Commands about the theme and the status line. They are saved in the settings of the user."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from robota.commands.command import SlashCommand, wrong_arguments
from robota.commands.host import CommandHost
from robota.commands.saved_setting import save_setting
from robota.protocol.appearance import Appearance, ThemeName
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    CommandShown,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.protocol.views import TextView

THEMES: Final = {
    ThemeName.AUTO: "follow the background of the terminal",
    ThemeName.DARK: "for a dark background",
    ThemeName.LIGHT: "for a light background",
    ThemeName.HIGH_CONTRAST: "bright and bold, nothing dimmed",
    ThemeName.COLOUR_BLIND: "blue and yellow instead of green and red",
    ThemeName.NONE: "no colours",
}
THEME: Final = SlashCommandInfo(
    name="theme",
    argument_hint=f"[{' | '.join(THEMES)}]",
    description="set the colours of the terminal UI",
    subcommands=tuple(SubcommandInfo(name=name, description=summary) for name, summary in THEMES.items()),
)
STATUS_LINE: Final = SlashCommandInfo(
    name="statusline",
    argument_hint="[on | off | git on | git off | reset]",
    description="configure the status line of the terminal UI",
    subcommands=(
        SubcommandInfo(name="on", description="show it"),
        SubcommandInfo(name="off", description="hide it"),
        SubcommandInfo(name="git", argument_hint="on | off", description="show the git branch in it"),
        SubcommandInfo(name="reset", description="restore the defaults"),
    ),
)
SWITCH: Final = {"on": True, "off": False}
RESET: Final = {"enabled": None, "gitBranch": None}


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/theme` and `/statusline`."""
    values = host.settings.values
    now = Appearance(
        theme=values.theme or ThemeName.AUTO,
        has_status_line=values.statusline.enabled,
        shows_git_branch=values.statusline.git_branch,
        reduces_motion=values.prefers_reduced_motion,
    )

    async def theme(arguments: str) -> CommandOutcome | Refused:
        nonlocal now
        if not arguments:
            return _themes(now)
        if arguments not in set(ThemeName):
            return wrong_arguments(THEME, "There is no such theme.")
        problem = await save_setting(host, ("theme",), arguments)
        now = now if problem else msgspec.structs.replace(now, theme=ThemeName(arguments))
        return problem or _shown(f"theme: {now.theme}", now)

    async def status_line(arguments: str) -> CommandOutcome | Refused:
        nonlocal now
        changes = _changes(arguments.split())
        if changes is None:
            return wrong_arguments(STATUS_LINE, "Invalid arguments for /statusline.")
        for name, value in changes.items():
            problem = await save_setting(host, ("statusline", name), value)
            if problem:
                return problem
        now = _with_changes(now, changes)
        branch = "with" if now.shows_git_branch else "without"
        summary = f"on, {branch} the git branch" if now.has_status_line else "off"
        return _shown(f"status line: {summary}", now)

    def switches(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
        return (SubcommandInfo(name=name) for name in SWITCH if before == ("git",))

    yield SlashCommand(info=THEME, run=theme)
    yield SlashCommand(info=STATUS_LINE, run=status_line, complete=switches)


def _themes(now: Appearance) -> CommandChoice:
    """All themes, each with its appearance, so that a client can preview it."""
    options = (
        CommandOption(
            label=name,
            line=f"/theme {name}",
            detail=summary,
            appearance=msgspec.structs.replace(now, theme=name),
            is_current=name is now.theme,
        )
        for name, summary in THEMES.items()
    )
    return CommandChoice(title=f"The theme is {now.theme}.", options=tuple(options))


def _shown(text: str, appearance: Appearance) -> CommandShown:
    return CommandShown(view=TextView(text=text), appearance=appearance)


def _changes(words: Sequence[str]) -> dict[str, bool | None] | None:
    """The settings to change; a value of None resets one. None if the words are not a form of the command."""
    match words:
        case []:
            return {}
        case ["reset"]:
            return dict(RESET)
        case ["git", word] if word in SWITCH:
            return {"gitBranch": SWITCH[word]}
        case [word] if word in SWITCH:
            return {"enabled": SWITCH[word]}
        case _:
            return None


def _with_changes(appearance: Appearance, changes: dict[str, bool | None]) -> Appearance:
    fields = {"enabled": "has_status_line", "gitBranch": "shows_git_branch"}
    defaults = Appearance()
    values = {fields[name]: getattr(defaults, fields[name]) if on is None else on for name, on in changes.items()}
    return msgspec.structs.replace(appearance, **values)

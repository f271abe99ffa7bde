"""Commands about the theme and the status line. They are saved in the settings of the user."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from robota.clients.tui.colours import StyleProblem
from robota.clients.tui.personal.own_theme import OwnTheme
from robota.commands.command import SlashCommand, wrong_arguments
from robota.commands.effect import reads_only
from robota.commands.host import CommandHost
from robota.commands.personal.own_themes import own_themes, theme_problem
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
    ThemeName.TERMINAL: "only the 16 colours of your terminal",
    ThemeName.HIGH_CONTRAST: "bright and bold, nothing dimmed",
    ThemeName.COLOUR_BLIND: "blue and yellow instead of green and red",
    ThemeName.NONE: "no colours",
}
THEME: Final = SlashCommandInfo(
    name="theme",
    argument_hint=f"[{' | '.join(THEMES)} | NAME]",
    description="set the colours of the terminal UI; NAME is a file in ~/.robota/themes",
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
        theme=values.theme or ThemeName.AUTO.value,
        has_status_line=values.statusline.enabled,
        shows_git_branch=values.statusline.git_branch,
        reduces_motion=values.prefers_reduced_motion,
    )

    async def theme(arguments: str) -> CommandOutcome | Refused:
        nonlocal now
        if not arguments:
            return await asyncio.to_thread(_themes, now, host.env)
        wrong = await asyncio.to_thread(theme_problem, arguments, host.env)
        if wrong is not None:
            return wrong_arguments(THEME, wrong)
        problem = await save_setting(host, ("theme",), arguments)
        now = now if problem else msgspec.structs.replace(now, theme=arguments)
        return problem or _shown_with(f"theme: {now.theme}", now)

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
        return _shown_with(f"status line: {summary}", now)

    def switches(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
        return (SubcommandInfo(name=name) for name in SWITCH if before == ("git",))

    yield SlashCommand(
        info=THEME,
        run=theme,
        effect=reads_only("", instead="robota config set theme NAME"),
        complete=partial(_own_names, host.env),
    )
    yield SlashCommand(
        info=STATUS_LINE,
        run=status_line,
        effect=reads_only("", instead="robota config set statusline.enabled"),
        complete=switches,
    )


def _themes(now: Appearance, env: Mapping[str, str]) -> CommandChoice:
    """All themes, each with its appearance, so that a client can preview it. One that is wrong says why."""

    def option(name: str, summary: str, *, is_usable: bool = True) -> CommandOption:
        return CommandOption(
            label=name,
            line=f"/theme {name}",
            detail=summary,
            appearance=msgspec.structs.replace(now, theme=name if is_usable else now.theme),
            is_current=name == now.theme,
        )

    own = own_themes(env).items()
    options = [option(name, summary) for name, summary in THEMES.items()]
    options += [option(name, _about(each), is_usable=_is_usable(each)) for name, each in own]
    return CommandChoice(title=f"The theme is {now.theme}.", options=tuple(options))


def _own_names(env: Mapping[str, str], before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    found = () if before else own_themes(env).items()
    return [SubcommandInfo(name=name, description=_about(each)) for name, each in found if _is_usable(each)]


def _is_usable(theme: OwnTheme | StyleProblem) -> bool:
    return isinstance(theme, OwnTheme)


def _about(theme: OwnTheme | StyleProblem) -> str:
    if isinstance(theme, OwnTheme):
        return theme.description or f"your own, based on {theme.base}"
    return f"cannot be used: {theme.why}"


def _shown_with(text: str, appearance: Appearance) -> CommandShown:
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

"""The user's theme files, and what is wrong with those that cannot be used."""

from collections.abc import Mapping

from robota.clients.tui.colours import StyleProblem
from robota.clients.tui.personal.own_theme import OwnTheme, OwnThemes, read_theme
from robota.config.appearance_files import theme_content, theme_names, theme_path
from robota.protocol.appearance import ThemeName


def own_themes(env: Mapping[str, str]) -> dict[str, OwnTheme | StyleProblem]:
    """All themes by name. A file with the name of a built-in theme is a problem, because it would never be used."""
    taken = StyleProblem("a built-in theme has this name, so rename the file")
    found = {name: taken if name in set(ThemeName) else load_theme(name, env) for name in theme_names(env)}
    bad_name = StyleProblem("its name may only have letters, digits, - and _")
    return {name: bad_name if theme is None else theme for name, theme in found.items()}


def load_theme(name: str, env: Mapping[str, str]) -> OwnTheme | StyleProblem | None:
    """The theme of this name; None if there is no such file."""
    try:
        content = theme_content(name, env)
    except OSError as error:
        return StyleProblem(error.strerror or str(error))
    return None if content is None else read_theme(content)


def usable_themes(env: Mapping[str, str]) -> OwnThemes:
    """Finds the themes that can be used."""

    def find(name: str) -> OwnTheme | None:
        theme = load_theme(name, env)
        return theme if isinstance(theme, OwnTheme) else None

    return find


def theme_problem(name: str, env: Mapping[str, str]) -> str | None:
    """Why a theme cannot be chosen, as a sentence; None if it can."""
    if name in set(ThemeName):
        return None
    theme = load_theme(name, env)
    if theme is None:
        return f"There is no theme {name!r}: neither built in nor as {theme_path(name, env)}."
    if isinstance(theme, StyleProblem):
        return f"The theme {name} cannot be used: {theme_path(name, env)}: {theme.why.rstrip('.')}."
    return None

"""The user's own theme and key bindings for a conversation."""

from collections.abc import Mapping

import msgspec

from robota.clients.tui.key_table import USUAL, Bindings
from robota.clients.tui.personal.own_theme import OwnThemes
from robota.commands.personal.own_keys import load_keys
from robota.commands.personal.own_themes import theme_problem, usable_themes
from robota.config.appearance_files import key_bindings_path


class OwnAppearance(msgspec.Struct, frozen=True, kw_only=True):
    """Where themes are found, what the keys do, and what is wrong with the files, as sentences."""

    themes: OwnThemes
    bindings: Bindings = USUAL
    problems: tuple[str, ...] = ()


def own_appearance(chosen_theme: str, env: Mapping[str, str]) -> OwnAppearance:
    """What the files of the user say."""
    keys = load_keys(env)
    problems = [f"{key_bindings_path(env)}: {problem}" for problem in keys.problems]
    if (problem := theme_problem(chosen_theme, env)) is not None:
        problems.append(f"{problem} The theme auto is used instead.")
    return OwnAppearance(themes=usable_themes(env), bindings=keys.bindings, problems=tuple(problems))

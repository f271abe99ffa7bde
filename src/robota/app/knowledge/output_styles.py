"""Finds the output styles and prompt presets of the user, the trusted project and plugins."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.app.knowledge.markdown_files import markdown_files
from robota.config.errors import ConfigError
from robota.config.settings.load import Settings
from robota.engine.runtime.options import StyleOptions
from robota.knowledge.output_styles import DEFAULT, MAX_BYTES, OutputStyle, output_style, style_named
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.extensions.plugins.active import ActivePlugin

STYLES: Final = "output-styles"
PRESETS: Final = "prompts"


def output_styles(
    settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> tuple[OutputStyle, ...]:
    """All output styles, in order of precedence: project, user, plugins."""
    styles = [
        output_style(path, data)
        for path, data in markdown_files(settings, STYLES, (".robota", ".claude"), root, env, MAX_BYTES)
    ]
    for plugin in plugins:
        for each in plugin.contents.output_styles:
            path = str(plugin.root / each.source.path)
            styles.append(output_style(path, each.source.data or b"", plugin.name))
    return tuple({style.name.lower(): style for style in reversed(styles)}.values())[::-1]


def resolve_style(
    settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> tuple[StyleOptions | None, tuple[str, ...]]:
    """The output style of the settings; None and a notice if there is no such style."""
    name = settings.values.output_style or DEFAULT
    if name.lower() == DEFAULT:
        return None, ()
    style = style_named(name, output_styles(settings, plugins, root, env))
    if style is None:
        return None, (f"There is no output style {single_line(name)!r}, so none is used. /output-style lists them.",)
    return StyleOptions(name=style.name, text=style.text, keeps_coding=style.keeps_coding), ()


def preset_text(written: str, settings: Settings, root: Path, env: Mapping[str, str]) -> str:
    """The text of `@NAME` after --append-system-prompt: a preset, or a file if it is a path. Raises `ConfigError`."""
    name = written.removeprefix("@")
    if "/" in name:
        try:
            with Path(name).expanduser().open("rb") as file:
                return file.read(MAX_BYTES).decode("utf-8", "backslashreplace").strip()
        except OSError as error:
            raise ConfigError(f"{name} cannot be read: {error.strerror}. Nothing was started.") from error
    presets = {
        Path(path).stem: data
        for path, data in reversed([*markdown_files(settings, PRESETS, (".robota",), root, env, MAX_BYTES)])
    }
    if name not in presets:
        listed = ", ".join(sorted(presets)) or "none"
        problem = f"There is no preset {single_line(name)!r}. Presets are files .robota/prompts/NAME.md; there are: "
        raise ConfigError(f"{problem}{listed}. Nothing was started.")
    return presets[name].decode("utf-8", "backslashreplace").strip()

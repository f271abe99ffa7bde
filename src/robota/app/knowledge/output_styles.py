"""Finds the output styles and prompt presets of the user, the trusted project and plugins."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.config.errors import ConfigError
from robota.config.paths import known_home, user_directory
from robota.config.settings.load import Settings
from robota.engine.runtime.options import StyleOptions
from robota.knowledge.output_styles import DEFAULT, MAX_BYTES, OutputStyle, output_style, style_named
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.extensions.plugins.active import ActivePlugin

STYLES: Final = "output-styles"
PRESETS: Final = "prompts"
MAX_FILES: Final = 200


def output_styles(
    settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> tuple[OutputStyle, ...]:
    """All output styles, in order of precedence: project, user, plugins."""
    found = [output_style(path, data) for path, data in _files(settings, STYLES, (".robota", ".claude"), root, env)]
    for plugin in plugins:
        for each in plugin.contents.output_styles:
            path = str(plugin.root / each.source.path)
            found.append(output_style(path, each.source.data or b"", plugin.name))
    return tuple({style.name.lower(): style for style in reversed(found)}.values())[::-1]


def resolve_style(
    settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> tuple[StyleOptions | None, tuple[str, ...]]:
    """The output style of the settings; None and a notice if there is no such style."""
    wanted = settings.values.output_style or DEFAULT
    if wanted.lower() == DEFAULT:
        return None, ()
    style = style_named(wanted, output_styles(settings, plugins, root, env))
    if style is None:
        return None, (f"There is no output style {single_line(wanted)!r}, so none is used. /output-style lists them.",)
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
    known = {Path(path).stem: data for path, data in reversed([*_files(settings, PRESETS, (".robota",), root, env)])}
    if name not in known:
        listed = ", ".join(sorted(known)) or "none"
        problem = f"There is no preset {single_line(name)!r}. Presets are files .robota/prompts/NAME.md; there are: "
        raise ConfigError(f"{problem}{listed}. Nothing was started.")
    return known[name].decode("utf-8", "backslashreplace").strip()


def _files(
    settings: Settings, kind: str, owners: Sequence[str], root: Path, env: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    """The Markdown files of a kind: those of the trusted snapshot of the workspace, then those of the user."""
    trusted = settings.trust.snapshot.sources if settings.trust is not None and settings.is_trusted else ()
    for owner in owners:
        for source in trusted:
            directory, _, name = source.path.rpartition("/")
            if directory == f"{owner}/{kind}" and name.endswith(".md") and source.data is not None:
                yield str(root / source.path), source.data[:MAX_BYTES]
    home = known_home(env)
    for owner in owners:
        own = user_directory(env) if owner == ".robota" else None if home is None else home / owner
        for path in [] if own is None else sorted((own / kind).glob("*.md"))[:MAX_FILES]:
            if path.is_file():
                with path.open("rb") as file:
                    yield str(path), file.read(MAX_BYTES)

"""The layers of settings, lowest first, and the reading of one layer."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.durable_file import read_file
from robota.config.settings.json_text import NotAnObject, lines_of, read_object
from robota.config.settings.key_path import join_key
from robota.config.settings.problems import SettingsProblem, Severity
from robota.config.settings.validation import MAX_FLAWS, FlawKind, SettingFlaw, TooManyFlaws, checked


class Layer(StrEnum):
    """The layers in order: a later one wins. Permission rules and hooks of all layers are joined."""

    BUILT_IN = "built-in"
    USER = "user"
    CLAUDE = "claude"
    CLAUDE_LOCAL = "claude-local"
    PROJECT = "project"
    LOCAL = "local"
    ENVIRONMENT = "environment"
    FLAGS = "flags"
    MANAGED = "managed"


# Settings of Claude Code, of which only some are used.
CLAUDE_LAYERS: Final = (Layer.CLAUDE, Layer.CLAUDE_LOCAL)
WORKSPACE_LAYERS: Final = (*CLAUDE_LAYERS, Layer.PROJECT, Layer.LOCAL)
PROTECTIVE: Final = frozenset({"permissions", "hooks", "sandbox", "budgets"})
BUILT_IN_VALUES: Final[Mapping[str, Any]] = {
    "completion": "implicit",
    "permissions": {"defaultMode": "default"},
    "updateCheck": {"enabled": True},
}


class Origin(msgspec.Struct, frozen=True):
    """The origin of a setting: the layer, and the file, variable or option."""

    layer: Layer
    where: str


class LayerValues(msgspec.Struct, frozen=True, kw_only=True):
    """The values and problems of one layer."""

    origin: Origin
    values: dict[str, Any] = {}
    problems: tuple[SettingsProblem, ...] = ()


class LayerText(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is parsed but not validated yet."""

    origin: Origin
    text: str = ""
    raw: dict[str, Any] = {}
    problems: tuple[SettingsProblem, ...] = ()


def read_layer(layer: Layer, path: Path) -> LayerText:
    """Read a settings file. A missing file has no settings, and an unreadable one is not changed."""
    origin = Origin(layer, str(path))
    try:
        return parse_file(origin, read_file(path))
    except (FileNotFoundError, NotADirectoryError):
        return LayerText(origin=origin)
    except OSError as error:
        return _unusable(origin, None, f"the file cannot be read ({error.strerror}); it was not changed")


def parse_file(origin: Origin, data: bytes) -> LayerText:
    """Parse a settings file into its values or a problem."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _unusable(origin, None, "the file cannot be read, because it is not UTF-8; it was not changed")
    try:
        raw, twice = read_object(text)
    except NotAnObject as error:
        return _unusable(origin, error.line, f"{error.problem}; the whole file is ignored and was not changed")
    if len(twice) > MAX_FLAWS:
        return _full_of_flaws(origin)
    problems = [_doubled(origin, duplicate.key) for duplicate in twice]
    return LayerText(origin=origin, text=text, raw=raw, problems=tuple(problems))


def check_layer(parsed: LayerText) -> LayerValues:
    """The valid settings of a file, and its problems."""
    try:
        values, flaws = checked(parsed.raw)
    except TooManyFlaws:
        return LayerValues(origin=parsed.origin, problems=_full_of_flaws(parsed.origin).problems)
    problems = (*parsed.problems, *_problems(parsed, flaws))
    return LayerValues(origin=parsed.origin, values=values, problems=problems)


def built_in() -> LayerValues:
    """The lowest layer, with the defaults."""
    return LayerValues(origin=Origin(Layer.BUILT_IN, "built in"), values=dict(BUILT_IN_VALUES))


def from_flags(values: Mapping[str, Any]) -> LayerValues:
    """The layer of command-line options, under the names of the settings."""
    return check_layer(LayerText(origin=Origin(Layer.FLAGS, "command line"), raw=dict(values)))


def _problems(parsed: LayerText, flaws: Sequence[SettingFlaw]) -> Iterator[SettingsProblem]:
    """The problems with their lines, which take as long to find as a whole file takes to read."""
    paths = [flaw.path for flaw in flaws]
    lines = lines_of(parsed.text, paths) if parsed.text and paths else [None] * len(flaws)
    return map(partial(_problem, parsed), flaws, lines)


def _problem(parsed: LayerText, flaw: SettingFlaw, line: int | None) -> SettingsProblem:
    return SettingsProblem(
        where=parsed.origin.where,
        line=line,
        key=join_key(flaw.path),
        text=flaw.text,
        severity=_severity(parsed.origin.layer, flaw),
    )


def _severity(layer: Layer, flaw: SettingFlaw) -> Severity:
    if flaw.kind is FlawKind.UNKNOWN or layer in WORKSPACE_LAYERS:
        return Severity.WARNING
    if layer in (Layer.MANAGED, Layer.FLAGS) or flaw.path[0] in PROTECTIVE:
        return Severity.ERROR
    return Severity.WARNING


def _unusable(origin: Origin, line: int | None, text: str) -> LayerText:
    # The user's own file may contain deny rules, so nothing starts without it.
    severity = Severity.WARNING if origin.layer in WORKSPACE_LAYERS else Severity.ERROR
    problem = SettingsProblem(where=origin.where, line=line, text=text, severity=severity)
    return LayerText(origin=origin, problems=(problem,))


def _full_of_flaws(origin: Origin) -> LayerText:
    text = f"it has more than {MAX_FLAWS} mistakes; the whole file is ignored and was not changed"
    return _unusable(origin, None, text)


def _doubled(origin: Origin, key: str) -> SettingsProblem:
    text = "it is given twice in one object; only the last value is used"
    return SettingsProblem(where=origin.where, key=key, text=text, severity=Severity.WARNING)

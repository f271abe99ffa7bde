"""The settings layers of a workspace, filtered by trust, with notes about what was ignored."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.config.paths import (
    CLAUDE_LOCAL_SETTINGS,
    CLAUDE_SETTINGS,
    LOCAL_SETTINGS,
    PROJECT_SETTINGS,
    home_directory,
    user_directory,
)
from robota.config.settings.key_path import KeyPath, join_key
from robota.config.settings.layers import (
    WORKSPACE_LAYERS,
    Layer,
    LayerText,
    LayerValues,
    Origin,
    check_layer,
    parse_file,
)
from robota.config.settings.problems import SettingsProblem, Severity
from robota.config.settings.workspace_filter import AdmittedSettings, admitted
from robota.config.trust.decision import Trust, TrustState, trust_of
from robota.config.trust.sources import take_snapshot
from robota.text.visible import single_line

WORKSPACE_FILES: Final = {
    Layer.CLAUDE: CLAUDE_SETTINGS,
    Layer.CLAUDE_LOCAL: CLAUDE_LOCAL_SETTINGS,
    Layer.PROJECT: PROJECT_SETTINGS,
    Layer.LOCAL: LOCAL_SETTINGS,
}


class WorkspaceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The layers of a workspace. `trust` is None without a project. `ignored` are messages for the user."""

    layers: tuple[LayerValues, ...] = ()
    trust: Trust | None = None
    ignored: tuple[str, ...] = ()


def read_workspace(root: Path, env: Mapping[str, str], *, may_trust: bool = True) -> WorkspaceSettings:
    """Read the settings that the workspace at `root` may set now. Without `may_trust`, it is not trusted this time."""
    root = root.resolve()
    broad = _too_broad(root, env)
    if broad is not None:
        return WorkspaceSettings(ignored=(broad,))
    snapshot = take_snapshot(root)
    trust = trust_of(snapshot, env) if may_trust else Trust(state=TrustState.REFUSED, snapshot=snapshot)
    layers: list[LayerValues] = []
    kept_out: list[tuple[str, AdmittedSettings]] = []
    for layer in WORKSPACE_LAYERS:
        path = WORKSPACE_FILES[layer]
        parsed = _parsed(trust, layer)
        part = admitted(parsed.raw, layer, trusted=trust.is_given)
        layers.append(check_layer(msgspec.structs.replace(parsed, raw=part.raw)))
        kept_out.append((path, part))
    ignored = (*_never_lines(kept_out), *(_untrusted_lines(trust, kept_out) if may_trust else ()))
    return WorkspaceSettings(layers=tuple(layers), trust=trust, ignored=ignored)


def _too_broad(root: Path, env: Mapping[str, str]) -> str | None:
    """Why the directory cannot be a project, such as a home directory, whose .robota holds the user's own settings."""
    if root == Path(root.anchor):
        description = "the root of the file system"
    elif root == home_directory(env).resolve():
        description = "your home directory"
    elif root / ".robota" == user_directory(env).resolve():
        description = "the directory of your own settings"
    else:
        return None
    return f"You are in {description}. No project configuration is read here; start in a project instead."


def _parsed(trust: Trust, layer: Layer) -> LayerText:
    path = WORKSPACE_FILES[layer]
    origin = Origin(layer, str(trust.snapshot.root / path))
    if all(source.path != path for source in trust.snapshot.sources):
        return LayerText(origin=origin)
    data = trust.snapshot.data_of(path)
    if data is not None:
        return parse_file(origin, data)
    text = "it was not read, because it is a link, not a plain file, or too long"
    return LayerText(
        origin=origin, problems=(SettingsProblem(where=origin.where, text=text, severity=Severity.WARNING),)
    )


def _never_lines(kept_out: list[tuple[str, AdmittedSettings]]) -> list[str]:
    return [
        f"{path}: ignored {_names(part.never)}: a repository cannot set it. To set it yourself: robota config set"
        for path, part in kept_out
        if part.never
    ]


def _untrusted_lines(trust: Trust, kept_out: list[tuple[str, AdmittedSettings]]) -> list[str]:
    if trust.is_given:
        return []
    settings = {path: part for path, part in kept_out}
    named = [
        f"{path} ({_names(settings[path].untrusted)})" if path in settings else single_line(path)
        for source in trust.snapshot.sources
        if (path := source.path) not in settings or settings[path].untrusted
    ]
    if not named:
        return []
    why = "has changed since you trusted it" if trust.state is TrustState.CHANGED else "is not trusted"
    problem = f" {trust.problem}" if trust.problem else ""
    return [
        f"This workspace {why}, so its configuration was ignored: {_some(named)}. "
        f"Deny and ask rules still apply. To review it and decide: robota trust{problem}"
    ]


def _names(keys: tuple[KeyPath, ...]) -> str:
    return _some([single_line(join_key(key)) for key in keys])


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

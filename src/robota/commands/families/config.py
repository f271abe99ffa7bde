"""The verbs of settings: show them with their sources, and change them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from robota.commands.setting_checks import refuse_ineffective
from robota.commands.verb import Answer, Family, NoArguments, ReadingVerb, Verb, VerbFailed, json_text, raw, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.durable_file import PRIVATE
from robota.config.errors import ConfigError
from robota.config.paths import LOCAL_SETTINGS, MANAGED_SETTINGS, PROJECT_SETTINGS, settings_path
from robota.config.settings.key_path import KeyPath, join_key, split_key
from robota.config.settings.layers import Layer, Origin
from robota.config.settings.load import Settings, load_settings
from robota.config.settings.merge import Entry, is_gathered, nested
from robota.config.settings.own_change import own_change
from robota.config.settings.schema import settings_schema
from robota.config.settings.validation import type_of
from robota.config.settings.workspace_filter import AFTER_TRUST, ALWAYS
from robota.config.settings.workspace_layers import WORKSPACE_FILES
from robota.config.settings.writer import Change, change_settings, read_raw, with_value, without_value
from robota.log.store import make_hidden_directory
from robota.protocol.slash_commands import SubcommandInfo
from robota.secrets.named_values import mask_settings
from robota.text.did_you_mean import did_you_mean
from robota.text.visible import single_line

IN_WORKSPACE: Final = {"project": PROJECT_SETTINGS, "local": LOCAL_SETTINGS}
SHARED_MODE: Final = 0o644


def _keys(host: VerbHost) -> Iterable[SubcommandInfo]:
    return (SubcommandInfo(name=name) for name in settings_schema()["properties"])


class ShowSettings(msgspec.Struct, frozen=True):
    """How settings are shown."""

    origin: Annotated[bool, Option("show which file, variable or option set each value")] = False


class OneSetting(msgspec.Struct, frozen=True):
    """A setting."""

    key: Annotated[str, Positional("KEY", 'for example permissions.deny, or models."gpt-4.1".contextWindow', _keys)]


class InScope(msgspec.Struct, frozen=True, kw_only=True):
    """Which settings file is changed."""

    scope: Annotated[Literal["user", "project", "local"], Option("settings file to change (default: user)")] = "user"


class SetSetting(InScope, frozen=True, kw_only=True):
    """A setting and its new value."""

    key: Annotated[str, Positional("KEY", complete=_keys)]
    value: Annotated[str, Positional("VALUE", "text, or JSON for settings that are not text")]
    add: Annotated[bool, Option("add VALUE to the list instead of replacing it")] = False


class UnsetSetting(InScope, frozen=True, kw_only=True):
    """A setting to remove."""

    key: Annotated[str, Positional("KEY", complete=_keys)]


def _show(host: VerbHost, args: ShowSettings) -> Answer:
    settings = _loaded(host)
    lines = [(single_line(join_key(entry.key), 200), _value_text(entry), entry.origin) for entry in settings.entries]
    width = max(len(key) for key, _, _ in lines)
    text = "\n".join(
        f"{key:<{width}}  {value}{f'   [{_origin_text(origin)}]' if args.origin else ''}"
        for key, value, origin in lines
    )
    data = _with_origins(settings) if args.origin else mask_settings(nested(settings.entries))
    return raw(text, data)


def _origin_text(origin: Origin) -> str:
    return "built-in" if origin.layer is Layer.BUILT_IN else f"{origin.layer}: {single_line(origin.where, 4096)}"


def _get(host: VerbHost, args: OneSetting) -> Answer:
    key = split_key(args.key)
    value = _value_in(nested(_loaded(host).entries), key)
    if value is None:
        raise VerbFailed(f"{join_key(key)} is not set.{_unknown_key(key)}")
    value = mask_settings(value, key[-1])
    return raw(value if isinstance(value, str) else json_text(value), value)


def _value_in(values: Any, key: KeyPath) -> Any:
    for part in key:
        values = values.get(part) if isinstance(values, dict) else None
    return values


def _unknown_key(key: KeyPath) -> str:
    """The hint to add if there is no setting of that name."""
    properties = settings_schema()["properties"]
    return "" if key[0] in properties else f" There is no setting {key[0]}.{did_you_mean(key[0], properties)}"


def _set(host: VerbHost, args: SetSetting) -> Answer:
    key = split_key(args.key)
    path = _target(host, args.scope, key)

    def change(before: dict[str, Any]) -> dict[str, Any]:
        value = _longer_list(before, key, args.value) if args.add else _value(key, args.value)
        refuse_ineffective(key, value, before)
        _refuse_missing_theme(key, value, host.env)
        return with_value(before, list(key), value, path)

    hint = _write(host, args.scope, path, change)
    origin = load_settings(host.root, host.env).origin(key)
    if origin is not None and origin.layer != args.scope and not is_gathered(key):
        host.tell(f"It has no effect here: {origin.where} ({origin.layer}) overrides it.")
    return told(f"{hint}{join_key(key)} was set in {path}.", {"key": join_key(key), "path": str(path)})


def _refuse_missing_theme(key: KeyPath, value: Any, env: Mapping[str, str]) -> None:
    if key != ("theme",):
        return
    from robota.commands.personal.own_themes import theme_problem

    problem = theme_problem(str(value), env)
    if problem is not None:
        raise ConfigError(f"{problem} Nothing was written.")


def _unset(host: VerbHost, args: UnsetSetting) -> Answer:
    key = split_key(args.key)
    path = _target(host, args.scope, key)
    if _value_in(read_raw(path), key) is None:
        raise VerbFailed(f"{join_key(key)} is not set in {path}.{_unknown_key(key)}")
    hint = _write(host, args.scope, path, lambda before: without_value(before, list(key)))
    return told(f"{hint}{join_key(key)} was removed from {path}.", {"key": join_key(key), "path": str(path)})


def _path(host: VerbHost, _: NoArguments) -> Answer:
    files = [
        (Layer.USER, settings_path(host.env)),
        *((layer, host.root / path) for layer, path in WORKSPACE_FILES.items()),
        (Layer.MANAGED, MANAGED_SETTINGS),
    ]
    text = "\n".join(f"{layer:<8} {path}{'' if path.exists() else '   (missing)'}" for layer, path in files)
    return raw(text, [{"layer": layer, "path": str(path), "exists": path.exists()} for layer, path in files])


def _schema(host: VerbHost, _: NoArguments) -> Answer:
    schema = settings_schema()
    return raw(json_text(schema), schema)


def _loaded(host: VerbHost) -> Settings:
    settings = load_settings(host.root, host.env)
    for line in (*(problem.message for problem in settings.errors), *settings.notices):
        host.tell(line)
    return settings


def _target(host: VerbHost, scope: str, key: KeyPath) -> Path:
    """The file to write, if this setting is allowed in it."""
    inside = IN_WORKSPACE.get(scope)
    if inside is None:
        return settings_path(host.env)
    if not {key[:1], key[:2]} & (ALWAYS | AFTER_TRUST):
        raise ConfigError(
            f"{join_key(key)} has no effect in {inside}: a repository cannot set it. Nothing was written. Use --scope "
            "user."
        )
    path = host.root / inside
    if path.resolve() != path:
        raise ConfigError(f"{path} is a symbolic link to another place. Nothing was written.")
    return path


def _longer_list(values: Mapping[str, Any], key: KeyPath, text: str) -> list[Any]:
    before = _value_in(values, key) or []
    if not isinstance(before, list):
        raise ConfigError(f"{join_key(key)} is not a list. Nothing was written.")
    return [*before, text]


def _value(key: KeyPath, text: str) -> Any:
    kind = type_of(key)
    for candidate in (lambda: text, lambda: msgspec.json.decode(text.encode())):
        try:
            value = candidate()
            msgspec.convert(value, kind)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError):
            continue
        return _parsed(text) if kind is Any else value
    return _parsed(text)


def _parsed(text: str) -> Any:
    """Parse the value as JSON; if it is not JSON, it is text."""
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeError):
        return text


def _write(host: VerbHost, scope: str, path: Path, change: Change) -> str:
    """Write a setting; returns a hint. The change is trusted if the workspace was trusted, or had no configuration."""
    if scope == "user":
        change_settings(path, change)
        return ""
    # Links in a workspace are not followed: they must not redirect a change to the user's own files.
    mode = SHARED_MODE if scope == "project" else PRIVATE
    try:
        with own_change(host.root, path, host.env):
            make_hidden_directory(path.parent)
            change_settings(path, change, mode=mode, within=host.root)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}. It was not changed.") from error
    if scope == "local":
        return ""
    return f"git ignores {path.parent.name}/. To share the file: git add --force {PROJECT_SETTINGS}\n"


def _with_origins(settings: Settings) -> list[dict[str, Any]]:
    return [
        {
            "key": join_key(entry.key),
            "value": mask_settings(entry.value, entry.key[-1]),
            "layer": entry.origin.layer,
            "where": entry.origin.where,
        }
        for entry in settings.entries
    ]


def _value_text(entry: Entry) -> str:
    return single_line(msgspec.json.encode(mask_settings(entry.value, entry.key[-1])).decode(), 2000)


FAMILY: Final = Family(
    name="config",
    aliases=("settings",),
    about="Show and change settings.",
    description="show and change settings, and where each one is set",
    default="show",
    verbs=(
        ReadingVerb("show", "print all effective settings", ShowSettings, _show),
        ReadingVerb("get", "print one setting", OneSetting, _get),
        Verb("set", "change one setting", SetSetting, _set),
        Verb("unset", "remove one setting", UnsetSetting, _unset),
        ReadingVerb("path", "print the settings files, lowest precedence first", NoArguments, _path),
        ReadingVerb("schema", "print the JSON Schema of a settings file", NoArguments, _schema),
    ),
)

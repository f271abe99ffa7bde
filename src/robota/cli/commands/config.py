"""`robota config`: show settings with their sources, and change them."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.cli.command_parser import CommandParser, did_you_mean
from robota.cli.commands.setting_checks import refuse_ineffective
from robota.cli.output import print_json
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
from robota.secrets.named_values import mask_settings
from robota.text.visible import single_line

DONE: Final = 0
NOT_SET: Final = 1
CONFIGURATION: Final = 3
SCOPES: Final = {"user": None, "project": PROJECT_SETTINGS, "local": LOCAL_SETTINGS}
SHARED_MODE: Final = 0o644


def main(argv: Sequence[str]) -> int:
    """Run `robota config …`; the arguments begin after `config`."""
    options = parser().read(argv)
    try:
        code: int = options.run(options, os.environ)
        return code
    except ConfigError as error:
        print(f"robota: {error}", file=sys.stderr)
        return CONFIGURATION


def parser() -> CommandParser:
    """The argument parser of `robota config`."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    parser = CommandParser(prog="robota config", description="Show and change settings.")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    show = _action(actions, shared, "show", _show, "print all effective settings")
    show.add_argument("--origin", action="store_true", help="show which file, variable or option set each value")
    show.add_argument("--json", action="store_true", help="print JSON")
    get = _action(actions, shared, "get", _get, "print one setting")
    get.add_argument("key", metavar="KEY", help='for example permissions.deny, or models."gpt-4.1".contextWindow')
    change = _action(actions, shared, "set", _set, "change one setting")
    change.add_argument("key", metavar="KEY")
    change.add_argument("value", metavar="VALUE", help="text, or JSON for settings that are not text")
    change.add_argument("--add", action="store_true", help="add VALUE to the list instead of replacing it")
    unset = _action(actions, shared, "unset", _unset, "remove one setting")
    unset.add_argument("key", metavar="KEY")
    for action in (change, unset):
        action.add_argument("--scope", choices=SCOPES, default="user", help="settings file to change (default: user)")
    _action(actions, shared, "path", _path, "print the settings files, lowest precedence first")
    _action(actions, shared, "schema", _schema, "print the JSON Schema of a settings file")
    return parser


def _action(actions: Any, shared: argparse.ArgumentParser, name: str, run: Any, help: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, parents=[shared], help=help)
    parser.set_defaults(run=run)
    return parser


def _show(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    settings = _loaded(options, env)
    if options.json:
        print_json(_with_origins(settings) if options.origin else mask_settings(nested(settings.entries)))
        return DONE
    lines = [(single_line(join_key(entry.key), 200), _written(entry), entry.origin) for entry in settings.entries]
    width = max(len(key) for key, _, _ in lines)
    for key, value, origin in lines:
        source = f"   [{_origin_in_words(origin)}]" if options.origin else ""
        print(f"{key:<{width}}  {value}{source}")
    return DONE


def _origin_in_words(origin: Origin) -> str:
    return "built-in" if origin.layer is Layer.BUILT_IN else f"{origin.layer}: {single_line(origin.where, 4096)}"


def _get(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    settings = _loaded(options, env)
    key = split_key(options.key)
    value = _value_in(nested(settings.entries), key)
    if value is None:
        print(f"robota: {join_key(key)} is not set.{_unknown_key(key)}", file=sys.stderr)
        return NOT_SET
    value = mask_settings(value, key[-1])
    if isinstance(value, str):
        print(value)
    else:
        print_json(value)
    return DONE


def _value_in(raw: Any, key: KeyPath) -> Any:
    for part in key:
        raw = raw.get(part) if isinstance(raw, dict) else None
    return raw


def _unknown_key(key: KeyPath) -> str:
    """The hint to add if there is no setting of that name."""
    known = settings_schema()["properties"]
    return "" if key[0] in known else f" There is no setting {key[0]}.{did_you_mean(key[0], known)}"


def _set(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    key = split_key(options.key)
    path = _target(options, env, key)

    def change(raw: dict[str, Any]) -> dict[str, Any]:
        value = _longer_list(raw, key, options.value) if options.add else _value(key, options.value)
        refuse_ineffective(key, value, raw)
        return with_value(raw, list(key), value, path)

    _write(options, env, path, change)
    print(f"{join_key(key)} was set in {path}.")
    _say_if_overruled(options, env, key)
    return DONE


def _unset(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    key = split_key(options.key)
    path = _target(options, env, key)
    if _value_in(read_raw(path), key) is None:
        print(f"robota: {join_key(key)} is not set in {path}.{_unknown_key(key)}", file=sys.stderr)
        return NOT_SET
    _write(options, env, path, lambda raw: without_value(raw, list(key)))
    print(f"{join_key(key)} was removed from {path}.")
    return DONE


def _path(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    root = _root(options)
    places = [
        (Layer.USER, settings_path(env)),
        *((layer, root / path) for layer, path in WORKSPACE_FILES.items()),
        (Layer.MANAGED, MANAGED_SETTINGS),
    ]
    for layer, path in places:
        print(f"{layer:<8} {path}{'' if path.exists() else '   (missing)'}")
    return DONE


def _schema(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    print_json(settings_schema())
    return DONE


def _loaded(options: argparse.Namespace, env: Mapping[str, str]) -> Settings:
    settings = load_settings(_root(options), env)
    for line in (*(problem.message for problem in settings.errors), *settings.notices):
        print(f"robota: {line}", file=sys.stderr)
    return settings


def _root(options: argparse.Namespace) -> Path:
    try:
        root: Path = options.cwd.resolve(strict=True)
    except OSError as error:
        raise ConfigError(f"{options.cwd} cannot be used: {error.strerror}. Nothing was changed.") from error
    return root


def _target(options: argparse.Namespace, env: Mapping[str, str], key: KeyPath) -> Path:
    """The file to write, if this setting is allowed in it."""
    inside = SCOPES[options.scope]
    if inside is None:
        return settings_path(env)
    if not {key[:1], key[:2]} & (ALWAYS | AFTER_TRUST):
        raise ConfigError(
            f"{join_key(key)} has no effect in {inside}: a repository cannot set it. Nothing was written. Use --scope "
            "user."
        )
    path = _root(options) / inside
    if path.resolve() != path:
        raise ConfigError(f"{path} is a symbolic link to another place. Nothing was written.")
    return path


def _longer_list(raw: dict[str, Any], key: KeyPath, text: str) -> list[Any]:
    before = _value_in(raw, key) or []
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
        return _as_json(text) if kind is Any else value
    return _as_json(text)


def _as_json(text: str) -> Any:
    """Parse the value as JSON; if it is not JSON, it is text."""
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeError):
        return text


def _write(options: argparse.Namespace, env: Mapping[str, str], path: Path, change: Change) -> None:
    """Write a setting. The change is trusted if the workspace was trusted, or had no configuration, before."""
    if options.scope == "user":
        change_settings(path, change)
        return
    # Links in a workspace are not followed: they must not redirect a change to the user's own files.
    root, mode = _root(options), SHARED_MODE if options.scope == "project" else PRIVATE
    try:
        with own_change(root, path, env):
            make_hidden_directory(path.parent)
            change_settings(path, change, mode=mode, within=root)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}. It was not changed.") from error
    if options.scope == "project":
        print(f"git ignores {path.parent.name}/. To share the file: git add --force {PROJECT_SETTINGS}")


def _say_if_overruled(options: argparse.Namespace, env: Mapping[str, str], key: KeyPath) -> None:
    origin = load_settings(_root(options), env).origin(key)
    if origin is not None and origin.layer != options.scope and not is_gathered(key):
        print(f"It has no effect here: {origin.where} ({origin.layer}) overrides it.", file=sys.stderr)


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


def _written(entry: Entry) -> str:
    return single_line(msgspec.json.encode(mask_settings(entry.value, entry.key[-1])).decode(), 2000)

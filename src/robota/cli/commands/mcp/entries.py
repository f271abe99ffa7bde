"""`robota mcp add`, `get` and `remove`: edit the entries of servers in their files."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.cli.commands.mcp.command import ADDRESS
from robota.cli.output import print_json
from robota.config.errors import ConfigError
from robota.config.paths import LOCAL_SETTINGS, settings_path
from robota.config.settings.json_edit import with_member, without_member
from robota.config.settings.json_text import read_object
from robota.config.settings.load import load_settings
from robota.config.settings.own_change import own_change
from robota.config.settings.writer import change_text, read_raw
from robota.extensions.mcp.configured_servers import FILES, SECTION, written_servers
from robota.extensions.mcp.definitions import problem_with_server
from robota.log.store import make_hidden_directory
from robota.secrets.named_values import mask_settings
from robota.text.visible import single_line

EXIT_SUCCESS: Final = 0
EXIT_FAILED: Final = 1
IN_WORKSPACE: Final = {"project": FILES[0], "local": LOCAL_SETTINGS}
SHARED_MODE: Final = 0o644
PRIVATE_MODE: Final = 0o600


def run(options: argparse.Namespace) -> int:
    """Run the action."""
    root: Path = options.root
    match options.action:
        case "add":
            return _add(options, root, os.environ)
        case "get":
            return _get(options, root, os.environ)
        case _:
            return _remove(options, root, os.environ)


class EntryFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with entries. `within` is its workspace, whose links are not followed."""

    path: Path
    mode: int = PRIVATE_MODE
    within: Path | None = None

    def entries(self) -> dict[str, Any]:
        """The entries of the file; `ConfigError` if it cannot be parsed."""
        section = read_raw(self.path, follow=self.within is None).get(SECTION, {})
        return section if isinstance(section, dict) else {}

    def write(self, name: str, entry: Mapping[str, Any], env: Mapping[str, str], *, replaces: bool) -> None:
        """Set one entry and keep the rest of the file unchanged. `ConfigError` if it is there and not replaced."""

        def change(text: str) -> str:
            section = read_object(text)[0].get(SECTION) if text.strip() else None
            if not replaces and isinstance(section, dict) and name in section:
                raise ConfigError(f"{name} is already in {self.path}. Nothing was written. To replace it: --replace")
            return with_member(text, (SECTION, name), entry)

        self._change(change, env)

    def remove(self, name: str, env: Mapping[str, str]) -> None:
        """Remove one entry and keep the rest of the file unchanged."""
        self._change(partial(without_member, key=(SECTION, name)), env)

    def _change(self, change: Callable[[str], str], env: Mapping[str, str]) -> None:
        if self.within is None:
            change_text(self.path, change, mode=self.mode)
            return
        try:
            with own_change(self.within, self.path, env):
                if self.path.parent != self.within:
                    make_hidden_directory(self.path.parent)
                change_text(self.path, change, mode=self.mode, within=self.within)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error}. It was not changed.") from error


def file_of_scope(scope: str, root: Path, env: Mapping[str, str]) -> EntryFile:
    """The file with the servers of a scope."""
    if scope == "user":
        return EntryFile(path=settings_path(env))
    mode = SHARED_MODE if scope == "project" else PRIVATE_MODE
    return EntryFile(path=root / IN_WORKSPACE[scope], mode=mode, within=root)


def _add(options: argparse.Namespace, root: Path, env: Mapping[str, str]) -> int:
    entry = _entry_in(options)
    problem = problem_with_server(options.server, entry)
    if problem is not None:
        raise ConfigError(f"MCP server {single_line(options.server)}: {problem}. Nothing was written.")
    file = file_of_scope(options.scope, root, env)
    file.write(options.server, entry, env, replaces=options.replace)
    print(f"{options.server} was added to {file.path}. To test it: robota mcp test {options.server}")
    _say_if_overruled(options.server, file, root, env)
    return EXIT_SUCCESS


def _entry_in(options: argparse.Namespace) -> dict[str, Any]:
    if options.json is not None:
        return _entry_of_json(options.json)
    target, *args = (options.url, *options.command) if options.url else options.command or [""]
    if not target:
        raise ConfigError("Give a command to start, or the URL of a server. Nothing was written.")
    timeout = {} if options.timeout is None else {"timeout": options.timeout}
    if options.transport == "http" or (options.transport is None and target.startswith(ADDRESS)):
        if args or options.env:
            raise ConfigError("A remote server takes no arguments and no environment. Nothing was written.")
        headers = dict(_pair(each, ":", "--header") for each in options.header)
        return {"type": "http", "url": target, **({"headers": headers} if headers else {}), **timeout}
    if options.header:
        raise ConfigError("Only a remote server takes headers. Nothing was written.")
    variables = dict(_pair(each, "=", "--env") for each in options.env)
    entry: dict[str, Any] = {"command": target}
    if args:
        entry["args"] = args
    return {**entry, **({"env": variables} if variables else {}), **timeout}


def _entry_of_json(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ConfigError(f"--json needs a JSON object: {error}. Nothing was written.") from error


def _pair(written: str, mark: str, option: str) -> tuple[str, str]:
    name, found, value = written.partition(mark)
    if not found or not name.strip():
        raise ConfigError(f"{option} {single_line(written)!r} is not NAME{mark}VALUE. Nothing was written.")
    return name.strip(), value.strip() if mark == ":" else value


def _say_if_overruled(name: str, file: EntryFile, root: Path, env: Mapping[str, str]) -> None:
    settings = load_settings(root, env)
    winner = written_servers(settings)[0].get(name)
    if winner is None:
        hint = "to review and trust it: robota trust"
        print(f"It has no effect yet, because this workspace is not trusted: {hint}.", file=sys.stderr)
    elif winner.where != str(file.path):
        print(f"It has no effect here: the server of that name in {winner.where} overrides it.", file=sys.stderr)


def _get(options: argparse.Namespace, root: Path, env: Mapping[str, str]) -> int:
    written = written_servers(load_settings(root, env))[0]
    found = written.get(options.server)
    if found is None:
        return _none_such(options.server, written)
    entry = mask_settings(found.entry)
    if options.json:
        print_json({"name": options.server, "where": found.where, "entry": entry})
        return EXIT_SUCCESS
    print(f"{options.server}  ({single_line(found.where, 4096)})")
    print_json(entry)
    problem = problem_with_server(options.server, found.entry)
    if problem is not None:
        print(f"robota: The server does not start: {problem}.", file=sys.stderr)
    return EXIT_SUCCESS if problem is None else EXIT_FAILED


def _remove(options: argparse.Namespace, root: Path, env: Mapping[str, str]) -> int:
    scopes = (options.scope,) if options.scope else ("local", "project", "user")
    files = [file_of_scope(scope, root, env) for scope in scopes]
    holders = [file for file in files if options.server in file.entries()]
    if not holders:
        places = ", ".join(str(file.path) for file in files)
        print(f"robota: {single_line(options.server)} is not in {places}. Nothing was changed.", file=sys.stderr)
        return EXIT_FAILED
    if len(holders) > 1:
        places = " and ".join(str(file.path) for file in holders)
        raise ConfigError(f"{options.server} is in {places}. Nothing was changed. Choose one with --scope.")
    holders[0].remove(options.server, env)
    print(f"{options.server} was removed from {holders[0].path}.")
    return EXIT_SUCCESS


def _none_such(name: str, written: Mapping[str, Any]) -> int:
    known = ", ".join(sorted(written)) or "none"
    print(f"robota: There is no MCP server {single_line(name)!r} here. Available: {known}.", file=sys.stderr)
    return EXIT_FAILED

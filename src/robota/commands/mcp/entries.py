"""Edits the entries of MCP servers in their files: add, get, remove, and import those of other agents."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.commands.families.mcp import AddServer, ImportServers, OneServer, RemoveServer
from robota.commands.verb import ADDRESS, Answer, VerbFailed, json_text, raw, told
from robota.commands.verb_host import VerbHost
from robota.config.errors import ConfigError
from robota.config.paths import LOCAL_SETTINGS, home_directory, settings_path
from robota.config.settings.json_edit import with_member, without_member
from robota.config.settings.json_text import read_object
from robota.config.settings.load import load_settings
from robota.config.settings.own_change import own_change
from robota.config.settings.writer import change_text, read_raw
from robota.extensions.mcp.configured_servers import FILES, SECTION, written_servers
from robota.extensions.mcp.definitions import problem_with_server
from robota.extensions.mcp.foreign_entries import ForeignEntry, read_foreign_entries
from robota.log.store import make_hidden_directory
from robota.secrets.named_values import mask_settings
from robota.text.visible import single_line

IN_WORKSPACE: Final = {"project": FILES[0], "local": LOCAL_SETTINGS}
SHARED_MODE: Final = 0o644
PRIVATE_MODE: Final = 0o600


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
        """Set one entry and keep the rest of the file unchanged.

        Raises `ConfigError` if it exists and must not be replaced.
        """

        def change(text: str) -> str:
            section = read_object(text)[0].get(SECTION) if text.strip() else None
            if not replaces and isinstance(section, dict) and name in section:
                raise ConfigError(f"{name} is already in {self.path}. Nothing was written. To replace it: --replace")
            return with_member(text, (SECTION, name), entry)

        self._change_file(change, env)

    def remove(self, name: str, env: Mapping[str, str]) -> None:
        """Remove one entry and keep the rest of the file unchanged."""
        self._change_file(partial(without_member, key=(SECTION, name)), env)

    def _change_file(self, change: Callable[[str], str], env: Mapping[str, str]) -> None:
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


def add_entry(host: VerbHost, args: AddServer) -> Answer:
    """Add a server to a file."""
    entry = _entry_in(args)
    problem = problem_with_server(args.server, entry)
    if problem is not None:
        raise ConfigError(f"MCP server {single_line(args.server)}: {problem}. Nothing was written.")
    file = file_of_scope(args.scope, host.root, host.env)
    file.write(args.server, entry, host.env, replaces=args.replace)
    winner = written_servers(load_settings(host.root, host.env))[0].get(args.server)
    if winner is None:
        host.tell("It has no effect yet, because this workspace is not trusted: to review and trust it: robota trust.")
    elif winner.where != str(file.path):
        host.tell(f"It has no effect here: the server of that name in {winner.where} overrides it.")
    data = {"name": args.server, "where": str(file.path)}
    return told(f"{args.server} was added to {file.path}. To test it: robota mcp test {args.server}", data)


def _entry_in(args: AddServer) -> dict[str, Any]:
    if args.json is not None:
        return _entry_of_json(args.json)
    target, *words = args.program or ("",)
    if not target:
        raise ConfigError("Give a command to start, or the URL of a server. Nothing was written.")
    timeout = {} if args.timeout is None else {"timeout": args.timeout}
    if args.transport == "http" or (args.transport is None and target.startswith(ADDRESS)):
        if words or args.env:
            raise ConfigError("A remote server takes no arguments and no environment. Nothing was written.")
        headers = dict(_pair(each, ":", "--header") for each in args.header)
        return {"type": "http", "url": target, **({"headers": headers} if headers else {}), **timeout}
    if args.header:
        raise ConfigError("Only a remote server takes headers. Nothing was written.")
    variables = dict(_pair(each, "=", "--env") for each in args.env)
    entry: dict[str, Any] = {"command": target}
    if words:
        entry["args"] = words
    return {**entry, **({"env": variables} if variables else {}), **timeout}


def _entry_of_json(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ConfigError(f"--json needs a JSON object: {error}. Nothing was written.") from error


def _pair(written: str, mark: str, option: str) -> tuple[str, str]:
    name, separator, value = written.partition(mark)
    if not separator or not name.strip():
        raise ConfigError(f"{option} {single_line(written)!r} is not NAME{mark}VALUE. Nothing was written.")
    return name.strip(), value.strip() if mark == ":" else value


def get_entry(host: VerbHost, args: OneServer) -> Answer:
    """The entry of a server, and the file it is in."""
    written = written_servers(load_settings(host.root, host.env))[0]
    server = written.get(args.server)
    if server is None:
        names = ", ".join(sorted(written)) or "none"
        raise VerbFailed(f"There is no MCP server {single_line(args.server)!r} here. Available: {names}.")
    entry = mask_settings(server.entry)
    problem = problem_with_server(args.server, server.entry)
    if problem is not None and not host.wants_all:
        host.tell(f"The server does not start: {problem}.")
    text = f"{args.server}  ({single_line(server.where, 4096)})\n{json_text(entry)}"
    data = {"name": args.server, "where": server.where, "entry": entry}
    return raw(text, data, ok=problem is None or host.wants_all)


def remove_entry(host: VerbHost, args: RemoveServer) -> Answer:
    """Remove a server from the only file that has it, or from that of a scope."""
    scopes = (args.scope,) if args.scope else ("local", "project", "user")
    files = [file_of_scope(scope, host.root, host.env) for scope in scopes]
    holders = [file for file in files if args.server in file.entries()]
    if not holders:
        paths = ", ".join(str(file.path) for file in files)
        raise VerbFailed(f"{single_line(args.server)} is not in {paths}. Nothing was changed.")
    if len(holders) > 1:
        paths = " and ".join(str(file.path) for file in holders)
        raise ConfigError(f"{args.server} is in {paths}. Nothing was changed. Choose one with --scope.")
    holders[0].remove(args.server, host.env)
    path = holders[0].path
    return told(f"{args.server} was removed from {path}.", {"name": args.server, "where": str(path)})


def import_entries(host: VerbHost, args: ImportServers) -> Answer:
    """Import the servers of another agent; the exit code is 0 if every requested server exists now."""
    source = None if args.file is None else host.path(args.file)
    entries = read_foreign_entries(args.agent, host.root, home_directory(host.env), source)
    missing = [name for name in args.names if all(entry.name != name for entry in entries)]
    for name in missing:
        host.tell(f"{args.agent} has no MCP server {single_line(name)!r}.")
    chosen = [entry for entry in entries if not args.names or entry.name in args.names]
    file = file_of_scope(args.scope, host.root, host.env)
    present = file.entries()
    added: list[ForeignEntry] = []
    for foreign in chosen:
        problem = _problem_with(foreign, present, replace=args.replace)
        if problem is not None:
            host.tell(f"{single_line(foreign.name)} was skipped: {problem}.")
            continue
        present[foreign.robota_name] = foreign.entry
        added.append(foreign)
        if not args.dry_run:
            file.write(foreign.robota_name, foreign.entry, host.env, replaces=args.replace)
    done = f"would be added to {file.path}" if args.dry_run else f"was added to {file.path}"
    lines = [line for foreign in added for line in _import_lines(foreign, done)]
    if not chosen:
        lines.append(f"{args.agent} has no MCP servers to import.")
    is_complete = not missing and len(added) == len(chosen)
    data = [{"name": each.robota_name, "entry": mask_settings(each.entry)} for each in added]
    return raw("\n".join(lines), data, ok=is_complete)


def _problem_with(foreign: ForeignEntry, present: Mapping[str, Any], *, replace: bool) -> str | None:
    problem = problem_with_server(foreign.robota_name, foreign.entry)
    if problem is None and foreign.robota_name in present and not replace:
        return f"there is already a server {foreign.robota_name} (--replace replaces it)"
    return problem


def _import_lines(foreign: ForeignEntry, done: str) -> Iterator[str]:
    renamed = "" if foreign.robota_name == foreign.name else f" as {foreign.robota_name}"
    yield f"{single_line(foreign.name)} of {single_line(foreign.where, 4096)} {done}{renamed}:"
    yield json_text(mask_settings(foreign.entry))
    if foreign.left_out:
        yield f"  without {', '.join(map(single_line, foreign.left_out))}, which Robota does not support"

"""Reads what a plugin contains, from a snapshot of its files: skills, commands, output styles, hooks, servers, agents.

What the user is shown before installation and what a session runs are both made from `PluginContents`, so nothing
can run that was not shown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from robota.config.settings.json_text import NotAnObject, read_object
from robota.config.trust.sources import ConfigSource, Snapshot
from robota.extensions.plugins.manifest import MANIFEST_FILES, InvalidPlugin, PluginManifest, parse_manifest
from robota.extensions.plugins.origins import contained_path
from robota.text.visible import single_line

SKILL_FILE: Final = "SKILL.md"
COMMAND_ENDINGS: Final = (".md", ".toml")
HOOK_FILE: Final = "hooks/hooks.json"
SERVER_FILE: Final = ".mcp.json"
# Parts of plugins that other agents use and Robota does not.
UNUSED: Final = (
    ("workflows", "workflows"),
    ("themes", "themes"),
    ("monitors", "monitors"),
    ("bin", "programs for the PATH"),
    (".lsp.json", "language servers"),
    ("settings.json", "settings"),
)


class ComponentFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file of a component. `relative` is the part of its path that determines its name."""

    relative: str
    source: ConfigSource


class PluginHook(msgspec.Struct, frozen=True, kw_only=True):
    """One hook handler for one event, as written."""

    event: str
    matcher: str
    handler: dict[str, Any]

    @property
    def runs(self) -> str:
        """The command or URL, to be shown; the whole handler if it has another form."""
        match self.handler:
            case {"type": "command", "command": str(command), "args": list(words)}:
                return " ".join((command, *map(str, words)))
            case {"type": "command", "command": str(command)}:
                return command
            case {"type": "http", "url": str(url)}:
                return f"POST {url}"
        return msgspec.json.encode(self.handler).decode()


class PluginContents(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a plugin contains.

    `other_files` are used only by its hooks, servers and skills. `unused` names
    parts that Robota does not support, `problems` what is wrong.
    """

    manifest: PluginManifest
    skills: tuple[ComponentFile, ...] = ()
    commands: tuple[ComponentFile, ...] = ()
    output_styles: tuple[ComponentFile, ...] = ()
    agents: tuple[ComponentFile, ...] = ()
    hooks: tuple[PluginHook, ...] = ()
    servers: dict[str, Any] = {}
    other_files: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def hook_settings(self) -> dict[str, list[dict[str, Any]]]:
        """The hooks in the format of settings."""
        settings: dict[str, list[dict[str, Any]]] = {}
        for hook in self.hooks:
            settings.setdefault(hook.event, []).append({"matcher": hook.matcher, "hooks": [hook.handler]})
        return settings


def read_contents(snapshot: Snapshot, fallback_name: str) -> PluginContents:
    """Read a plugin. Raises `InvalidPlugin` if it has no valid manifest; other errors become `problems`."""
    if snapshot.problem is not None:
        raise InvalidPlugin(snapshot.problem)
    return _Reader(snapshot, fallback_name).contents()


class _Reader:
    """Reads the components of one plugin and collects problems."""

    def __init__(self, snapshot: Snapshot, fallback_name: str) -> None:
        self._sources = {source.path: source for source in snapshot.sources}
        self._problems: list[str] = []
        self._manifest = self._read_manifest(fallback_name)

    def contents(self) -> PluginContents:
        manifest = self._manifest
        skills = tuple(self._skills(("skills", *manifest.skills)))
        commands = tuple(self._files(("commands",) if manifest.commands is None else manifest.commands))
        styles = tuple(self._files(("output-styles",) if manifest.output_styles is None else manifest.output_styles))
        agents = tuple(self._files(("agents",) if manifest.agents is None else manifest.agents))
        contents = PluginContents(
            manifest=manifest,
            skills=skills,
            commands=tuple(each for each in commands if each.relative.endswith(COMMAND_ENDINGS)),
            output_styles=tuple(each for each in styles if each.relative.endswith(".md")),
            agents=tuple(each for each in agents if each.relative.endswith(".md")),
            hooks=tuple(self._hooks()),
            servers=self._servers(),
            unused=tuple(what for path, what in UNUSED if self._has_path(path)),
        )
        parts = (*contents.skills, *contents.commands, *contents.output_styles)
        if not (parts or contents.hooks or contents.servers):
            self._problems.append("it contains nothing that Robota uses")
        shown = (*parts, *contents.agents)
        listed = {*MANIFEST_FILES, HOOK_FILE, SERVER_FILE, *(each.source.path for each in shown)}
        return msgspec.structs.replace(
            contents,
            other_files=tuple(path for path in self._sources if path not in listed),
            problems=tuple(dict.fromkeys(self._problems)),
        )

    def _read_manifest(self, fallback_name: str) -> PluginManifest:
        for path in MANIFEST_FILES:
            if path in self._sources:
                data = self._sources[path].data
                if data is None:
                    raise InvalidPlugin(f"{path} is not a plain file, or too long")
                return parse_manifest(data, fallback_name)
        return parse_manifest(b"{}", fallback_name)

    def _has_path(self, path: str) -> bool:
        return any(source == path or source.startswith(f"{path}/") for source in self._sources)

    def _below(self, written: str) -> Iterator[ComponentFile]:
        """The regular files at or below a path of the manifest."""
        top = self._path(written)
        if top is None:
            return
        for path, source in self._sources.items():
            if top not in ("", path) and not path.startswith(f"{top}/"):
                continue
            if source.data is None:
                self._problems.append(f"{single_line(path, 200)} is a link, special or too long, and is not read")
            else:
                relative = path.rpartition("/")[2] if path == top else path[len(top) :].lstrip("/")
                yield ComponentFile(relative=relative, source=source)

    def _files(self, paths: Iterable[str]) -> Iterator[ComponentFile]:
        by_path = {file.source.path: file for written in paths for file in self._below(written)}
        return iter(by_path.values())

    def _skills(self, paths: Iterable[str]) -> Iterator[ComponentFile]:
        """Skills, named after the directory of their SKILL.md."""
        for file in self._files(paths):
            *above, name = file.source.path.split("/")
            if name == SKILL_FILE:
                directory = above[-1] if above else self._manifest.name
                yield ComponentFile(relative=f"{directory}/{SKILL_FILE}", source=file.source)

    def _path(self, written: str) -> str | None:
        """A path within the plugin; None, and a problem, for one that leads out of it."""
        try:
            return contained_path(written)
        except InvalidPlugin:
            self._problems.append(f"{single_line(written, 200)!r} is not a path within the plugin and is ignored")
            return None

    def _hooks(self) -> Iterator[PluginHook]:
        for written in (HOOK_FILE, *self._manifest.hooks):
            for event, groups in self._section(written, "hooks", is_default=written == HOOK_FILE).items():
                for group in groups if isinstance(groups, list) else [groups]:
                    yield from self._handlers(event, group)

    def _handlers(self, event: str, group: Any) -> Iterator[PluginHook]:
        matcher = (group.get("matcher") or "") if isinstance(group, dict) else None
        handlers = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(matcher, str) or not isinstance(handlers, list):
            self._problems.append(f"a hook for {single_line(event)} is not valid and is ignored")
            return
        for handler in handlers:
            if isinstance(handler, dict):
                yield PluginHook(event=event, matcher=matcher, handler=handler)
            else:
                self._problems.append(f"a handler for {single_line(event)} is not valid and is ignored")

    def _servers(self) -> dict[str, Any]:
        servers: dict[str, Any] = {}
        for written in (SERVER_FILE, *self._manifest.servers):
            servers |= self._section(written, "mcpServers", is_default=written == SERVER_FILE)
        return servers

    def _section(self, written: str | Mapping[str, Any], name: str, *, is_default: bool) -> dict[str, Any]:
        """An object of the manifest or of a file, which may be wrapped in a key `name`."""
        whole: Any = written
        if isinstance(written, str):
            path = self._path(written)
            if path is None or (is_default and path not in self._sources):
                return {}
            whole = self._object(path)
        inner = whole.get(name, whole)
        if not isinstance(inner, dict):
            self._problems.append(f"{name} is not an object and is ignored")
            return {}
        return {key: value for key, value in inner.items() if key != "description" or isinstance(value, dict | list)}

    def _object(self, path: str) -> dict[str, Any]:
        source = self._sources.get(path)
        try:
            if source is None or source.data is None:
                raise NotAnObject(1, "it is missing, a link, or too long")
            return read_object(source.data.decode("utf-8-sig"))[0]
        except (NotAnObject, UnicodeDecodeError) as error:
            self._problems.append(f"{single_line(path, 200)} is ignored: {error}")
            return {}

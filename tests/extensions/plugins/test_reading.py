"""Manifests, marketplaces and contents of plugins: any files are either read or refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.config.trust.sources import ConfigSource, Snapshot
from robota.extensions.plugins.contents import PluginContents, read_contents
from robota.extensions.plugins.manifest import InvalidPlugin, parse_manifest
from robota.extensions.plugins.marketplace import parse_marketplace
from robota.extensions.plugins.origins import GitOrigin, parse_typed_source
from robota.knowledge.agents.definition_file import agent_definition

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.sampled_from(
    ["skills/a/SKILL.md", "SKILL.md", "commands/c.md", "commands/d/e.toml", "output-styles/s.md", "agents/a.md", "x"]
)
COMPONENTS = (
    st.sampled_from(["./", "skills", "./commands", "../out", "/etc", "a\\b", "x", "hooks/hooks.json"]) | st.text()
)
MANIFEST = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["lint", "mcp", "a b"]) | st.text(max_size=5),
        "version": st.text(max_size=5) | st.integers(),
        "skills": COMPONENTS | st.lists(COMPONENTS, max_size=2),
        "commands": COMPONENTS | JSON,
        "hooks": COMPONENTS | st.dictionaries(st.sampled_from(["hooks", "Stop"]), JSON, max_size=2) | JSON,
        "mcpServers": COMPONENTS | JSON,
    },
)


def snapshot(files: dict[str, Any]) -> Snapshot:
    sources = [
        ConfigSource(path=path, digest=str(place), data=data if isinstance(data, bytes) else json.dumps(data).encode())
        for place, (path, data) in enumerate(files.items())
    ]
    return Snapshot(root=Path("/p"), sources=tuple(sources))


def contents(**files: Any) -> PluginContents:
    return read_contents(snapshot({path.replace("__", "/"): data for path, data in files.items()}), "lint")


@given(MANIFEST | JSON, JSON, JSON, st.dictionaries(PATHS, st.binary(max_size=40), max_size=4))
def test_any_files_are_read_or_refused(manifest: Any, hooks: Any, servers: Any, files: dict[str, bytes]) -> None:
    named = {".claude-plugin/plugin.json": manifest, "hooks/hooks.json": hooks, ".mcp.json": servers}
    try:
        found = read_contents(snapshot({**named, **files}), "lint")
    except InvalidPlugin:
        return
    in_settings = [
        (event, group["matcher"], handler)
        for event, groups in found.hook_settings.items()
        for group in groups
        for handler in group["hooks"]
    ]
    shown = [(hook.event, hook.matcher, hook.handler) for hook in found.hooks]
    assert sorted(map(repr, in_settings)) == sorted(map(repr, shown)), "what runs is what is shown"
    assert all(hook.runs for hook in found.hooks if hook.handler.get("command"))
    assert {each.source.path for each in (*found.skills, *found.commands)} <= set(files) | set(named)


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_manifest_is_parsed_or_refused(data: bytes) -> None:
    try:
        assert parse_manifest(data, "lint").name
    except InvalidPlugin as refused:
        assert str(refused)


@given(
    st.fixed_dictionaries(
        {
            "name": st.just("team"),
            "plugins": st.lists(st.fixed_dictionaries({"name": st.text(max_size=4), "source": JSON})),
        }
    )
    | JSON
)
def test_any_marketplace_is_parsed_or_refused(value: Any) -> None:
    try:
        marketplace = parse_marketplace(json.dumps(value).encode(), is_local=False)
    except InvalidPlugin:
        return
    assert len(marketplace.entries) + len(marketplace.problems) == len(value["plugins"])


@pytest.mark.parametrize("bomb", [b"[" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b"\xff\xfe", b"{" * 9])
def test_bombs_are_refused(bomb: bytes) -> None:
    for read in (lambda: parse_manifest(bomb, "lint"), lambda: parse_marketplace(bomb, is_local=False)):
        with pytest.raises(InvalidPlugin):
            read()


@pytest.mark.parametrize(
    "name", ["", "../up", "a/b", "a b", "a:b", "a@b", "mcp", "MCP", "a__b", "-a", "a\n", "ä", "x" * 65]
)
def test_ambiguous_plugin_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidPlugin, match="cannot be its name"):
        parse_manifest(json.dumps({"name": name}).encode(), name)


def test_control_characters_do_not_reach_the_terminal() -> None:
    manifest = parse_manifest(
        json.dumps({"name": "a", "description": "\x1b[2Jnice\u202e", "version": "\x07"}).encode(), ""
    )
    assert manifest.description.isprintable() and manifest.version.isprintable()


@pytest.mark.parametrize(
    "source",
    [
        {"source": "url", "url": "file:///home/user/private"},
        {"source": "git", "url": "FILE:///home/user/private"},
        {"source": "git-subdir", "url": "file:///home/user/private", "path": "plugins/lint"},
        {"source": "directory", "path": "/home/user/private"},
        "../private",
        "/home/user/private",
    ],
)
def test_a_marketplace_of_another_machine_names_nothing_of_this_one(source: Any) -> None:
    plugins = [{"name": "lint", "source": source}, {"name": "good", "source": "./good"}]
    marketplace = parse_marketplace(json.dumps({"name": "team", "plugins": plugins}).encode(), is_local=False)
    assert [entry.name for entry in marketplace.entries] == ["good"]
    assert marketplace.problems[0].startswith("plugin lint of the marketplace is ignored")


def test_invalid_marketplace_entries_are_reported() -> None:
    plugins = [{"name": "far\x1b[2J", "source": {"source": "npm", "package": "x"}}, {"source": "./a"}]
    data = json.dumps({"name": "team", "plugins": plugins}).encode()
    named, nameless = parse_marketplace(data, is_local=True).problems
    assert named.startswith("plugin far\\x1b[2J of the marketplace is ignored")
    assert nameless.startswith("plugin 2 of the marketplace is ignored")


def test_paths_outside_the_plugin_are_reported_and_ignored() -> None:
    manifest = {"name": "lint", "skills": ["../other", "/etc"], "hooks": "../hooks.json", "commands": "c\\d"}
    found = contents(**{".claude-plugin/plugin.json": manifest})
    assert not (found.skills or found.commands or found.hooks)
    assert all(any(repr(path) in each for each in found.problems) for path in ("../other", "/etc", "../hooks.json"))


def test_the_robota_manifest_takes_precedence_and_both_hook_formats_are_read() -> None:
    hook = {"type": "command", "command": "true"}
    found = contents(
        **{
            ".robota-plugin/plugin.json": {"name": "ours", "hooks": {"Stop": [{"hooks": [hook]}]}},
            ".claude-plugin/plugin.json": {"name": "theirs"},
            "hooks/hooks.json": {"description": "words", "hooks": {"PreToolUse": {"matcher": "Bash", "hooks": [hook]}}},
        }
    )
    assert found.manifest.name == "ours"
    assert [(each.event, each.matcher, each.runs) for each in found.hooks] == [
        ("PreToolUse", "Bash", "true"),
        ("Stop", "", "true"),
    ]


@pytest.mark.parametrize(
    "typed",
    [
        "ext::sh -c touch% x",
        "https://-x",
        "http://plain.example/x",
        "file://relative",
        "ssh://-oProxyCommand=x/y",
        "-u",
        "https://a b",
    ],
)
def test_dangerous_git_urls_are_refused(typed: str) -> None:
    try:
        assert parse_typed_source(typed, Path("/")) is None
    except InvalidPlugin:
        return


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("owner/name", GitOrigin(url="https://github.com/owner/name.git")),
        ("owner/name#v1", GitOrigin(url="https://github.com/owner/name.git", ref="v1")),
        ("https://host/x.git#main", GitOrigin(url="https://host/x.git", ref="main")),
        ("git@host:x/y.git", GitOrigin(url="git@host:x/y.git")),
    ],
)
def test_typed_sources_are_parsed(typed: str, meant: GitOrigin) -> None:
    assert parse_typed_source(typed, Path("/")) == meant


def test_agent_files_are_read() -> None:
    reviewer = "---\nname: reviewer\ndescription: Reads diffs.\ntools: Read, Grep\n---\nYou review.\n"
    found = contents(**{"agents/deep/reviewer.md": reviewer, "agents/notes.txt": "x"})
    [agent] = found.agents
    assert agent.relative == "deep/reviewer.md"
    read = agent_definition(agent.relative, reviewer.encode(), "lint")
    assert (read.name, read.description, read.tools) == ("lint:reviewer", "Reads diffs.", ("Read", "Grep"))
    assert read.prompt == "You review." and read.ignored == ()
    assert found.unused == () and found.other_files == ("agents/notes.txt",)
    elsewhere = contents(**{".claude-plugin/plugin.json": {"name": "lint", "agents": "./x.md"}, "x.md": reviewer})
    assert [each.relative for each in elsewhere.agents] == ["x.md"]


@given(st.binary(max_size=300), st.text(max_size=20))
def test_any_agent_file_is_read(data: bytes, name: str) -> None:
    agent = agent_definition(f"{name}.md", b"---\nname: " + data + b"\ndescription: [a, {b: c}]\n---\n")
    assert agent.name.isprintable() and agent.description.isprintable() and len(agent.name) <= 65

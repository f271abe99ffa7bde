"""Where nobody attends, no command changes anything: the prompt may be a text of somebody else, such as an issue.

The lines below name every verb of every family and every other command, each in a form that would run.
"""

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.app.session import open_session
from robota.commands.builtin_commands import MODULES, load_commands
from robota.commands.host import CommandHost
from robota.commands.session_commands import with_commands
from robota.commands.verb import Family, ShellVerb
from robota.config.launch_options import LaunchOptions
from robota.protocol.commands import Receipt, Refused, RunSlashCommand
from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota, clean_environment

CHANGING = """
/config set theme dark
/config unset currentProvider
/mcp add helper -- true
/mcp remove helper
/mcp import claude
/mcp approve helper
/mcp login helper
/mcp logout helper
/skills new helper --user
/agents new helper --user
/memory note Use tabs.
/memory add project build Use make.
/memory approve 1
/memory reject 1
/memory forget 1
/memory check
/plugin install .
/plugin disable lint
/plugin enable lint
/plugin update
/plugin uninstall lint
/plugin reload
/plugin marketplace add .
/plugin marketplace update
/plugin marketplace remove team
/intents new Docs -- docs/**
/intents start INT-001
/intents complete INT-001
/intents map
/trust decide
/trace note
/sessions rename EARLIER roof
/sessions fork EARLIER
/sessions import EARLIER
/sessions export EARLIER
/sessions delete EARLIER
/sessions prune
/report EARLIER
/audit --output audit.md
/rewind restore 1 --yes
/rewind undo --yes
/rewind redo --yes
/rewind code 1 --yes
/worktree remove tree --force
/doctor --fix
/export out.md
/add-dir /usr/share
/rename roof
/fork again
/pin 1
/unpin 1
/clear
/compact undo
/background stop all
/agent stop agent_1
/agent close agent_1
/theme light
/statusline off
/language fr
/output-style default
/mode architect
/permissions acceptEdits
# Use tabs.
""".strip().splitlines()
READING = """
/config show
/config get theme
/config path
/config schema
/mcp status
/mcp list
/mcp test helper
/mcp get helper
/agents list
/agents show Explore
/agents validate
/skills list
/skills show helper
/skills validate
/memory list
/memory show
/memory pending
/memory used
/plugin list
/plugin show lint
/plugin menu
/plugin manage lint
/plugin browse team
/plugin scope lint@team
/plugin marketplace list
/plugin marketplace menu
/intents list
/intents show INT-001
/intents status
/trust show
/trace verify
/trace head
/trace export
/tool list
/policy explain -- ls
/policy test
/policy simulate
/sessions list
/sessions show EARLIER
/sessions search paint
/sessions verify EARLIER
/state
/audit
/rewind list
/rewind diff
/worktree list
/doctor
/hooks
/instructions
/why a.txt
/context
/context all
/compact preview
/help
/history
/new
/retry
/detach
/inbox
/exit
/model
/effort high
/provider
/copy
/status
/cost
/todos
/search paint
/resume
/diff
/background list
/add-dir
/agent
/agent open
/theme
/keys
/statusline
/language
/output-style
/mode
/permissions rules
""".strip().splitlines()
# They start a task, which would have to be waited for.
PROMPTING = ("/review", "/init")
DERIVED = {"heads", "checkpoints", "snapshots"}


@pytest.fixture
def earlier(robota: Robota) -> Path:
    """A session that changed a file."""
    script(robota, {"calls": [call("write_to_file", path="a.txt", content="new\n")]}, {"text": "Painted."})
    assert robota("-p", "paint", "--permission-mode", "acceptEdits").code == 0
    [directory] = sessions(robota)
    return directory


def test_where_nobody_attends_nothing_is_changed(robota: Robota, earlier: Path) -> None:
    (robota.workspace / ".orchestration").mkdir()
    before = contents(robota, earlier)
    lines = [line.replace("EARLIER", earlier.name) for line in (*CHANGING, *READING)]
    for line, receipt in zip(lines, receipts(robota, lines, earlier), strict=True):
        is_refused = isinstance(receipt, Refused) and receipt.code == "unattended"
        assert is_refused == (lines.index(line) < len(CHANGING)), (line, receipt)
    after = contents(robota, earlier)
    assert [path for path in before | after if before.get(path) != after.get(path)] == []


def test_every_command_is_among_them(robota: Robota) -> None:
    lines = {line.removeprefix("/") for line in (*CHANGING, *READING, *PROMPTING)}
    for name in each_command(robota):
        assert any(f"{line} ".startswith(f"{name} ") for line in lines), f"/{name} has no line here"


def receipts(robota: Robota, lines: list[str], resumes: Path) -> list[Receipt]:
    """What each line gives in one conversation that nobody attends."""

    async def run() -> list[Receipt]:
        env = clean_environment(robota.home)
        opened = open_session(LaunchOptions(cwd=robota.workspace, attended=False, resumes=resumes), env)
        try:
            session = with_commands(opened, env)
            return [await session.submit(RunSlashCommand(line=line)) for line in lines]
        finally:
            await opened.close()

    return asyncio.run(run())


def contents(robota: Robota, own: Path) -> dict[str, str]:
    """The digest of each file, except the open session and what Robota notes and derives about it."""
    places = (robota.workspace, robota.home)
    files = (path for place in places for path in sorted(place.rglob("*")) if path.is_file())
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if own not in path.parents and not DERIVED & set(path.parts) and ".sqlite" not in path.name
    }


def each_command(robota: Robota) -> Iterator[str]:
    """`NAME` of each command that is no family, `NAME VERB` of each verb that conversations have."""
    env = clean_environment(robota.home)
    opened = open_session(LaunchOptions(cwd=robota.workspace, needs_model=False), env)
    host = CommandHost(opened=opened, env=env)
    for module in MODULES:
        family = getattr(__import__(f"robota.commands.{module}", fromlist=["FAMILY"]), "FAMILY", None)
        yield from () if family is None else each_verb(family, family.name)
        yield from (
            each.info.name for each in load_commands(module, host) if family is None or each.info.name != family.name
        )
    asyncio.run(opened.close())


def each_verb(family: Family, name: str) -> Iterator[str]:
    if family.main is not None and not isinstance(family.main, ShellVerb):
        yield name
    for verb in family.verbs:
        if isinstance(verb, Family):
            yield from each_verb(verb, f"{name} {verb.name}")
        elif not isinstance(verb, ShellVerb):
            yield f"{name} {verb.name}"

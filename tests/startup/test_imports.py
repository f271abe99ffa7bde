"""Start-up time is a contract: what each way of starting must not import."""

import asyncio
import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.cli.scripts import write_settings
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal
from tests.providers.faulty import GOOD, sending
from tests.providers.raw_server import raw_server

# Imports nothing by itself but sys, which is there anyway.
LOADED = """
import sys
from robota.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as stop:
    code = stop.code
print(code or 0, *sorted(sys.modules), file=sys.stderr)
"""
UI_LIBRARIES = {"rich", "prompt_toolkit", "textual", "pygments", "markdown_it"}
SERVERS_AND_PROTOCOLS = {"starlette", "uvicorn", "mcp", "acp", "aiohttp"}
# Modules, and packages with all that is in them, that are needed only later: by a call of a tool, by a command and
# judging it, by a question to a user, by hooks and MCP servers that nobody configured.
NEEDED_LATER = """
    app.protection.hidden_files providers.correctable_provider agents cli.configure
    commands extensions hooks
    engine.calls.admission engine.calls.approval engine.calls.executor engine.context.reducer engine.context.summary
    engine.runtime.notification
    policy.rules.command_match policy.shell policy.unattended
    tools.command.second_try tools.documents tools.editing.change tools.editing.diff tools.editing.find_text
    tools.editing.patch_format tools.task.checklist
    workspace.checkpoints workspace.git.configured_programs workspace.git.repository_safety workspace.git.run
    workspace.git.tracked_files workspace.git.writing_commands
    workspace.output workspace.search workspace.shell workspace.text workspace.web
    workspace.process.background workspace.process.command_process workspace.process.environment
    workspace.process.foreground workspace.process.tree workspace.process.watchdog
    workspace.sandbox.backend workspace.sandbox.bubblewrap workspace.sandbox.egress workspace.sandbox.border
"""
# Of our own; every one costs about a quarter of a millisecond.
MOST_MODULES = 261
# Six of them are the door for other windows; two, the guard of the terminal and what starts it, are loaded after the
# first picture.
MOST_FOR_A_SCREEN = 265
# Not needed before somebody sends, answers, chooses or reads something.
AFTER_THE_SCREEN = """
    commands.families commands.conversation commands.registry
    clients.render.command_text clients.tui.reducer.approvals
    clients.tui.reducer.dialogs clients.tui.reducer.commands clients.tui.markdown clients.tui.pages
    clients.tui.widgets.call_rows
    engine.calls.executor engine.context engine.model engine.session.task_factory engine.task.task
    tools.command tools.editing tools.files tools.task tools.web
"""
# Where the commands are.
PACKAGES = ("robota.commands.families.", "robota.commands.conversation.")
SCRIPT = {"turns": [{"text": "Hello."}]}


def modules_after(robota: Robota, *arguments: str) -> set[str]:
    """Everything that was imported by the time `robota ARGUMENTS` ended well."""
    # Not /tmp: what killed processes of others left there would be looked at, and for that more is imported.
    finished = robota.python("-c", LOADED, *arguments, env={"TMPDIR": str(robota.home)})
    assert finished.code == 0, finished.stderr
    code, *modules = finished.stderr.splitlines()[-1].split()
    assert code == "0", finished.stderr
    return set(modules)


def test_version_imports_next_to_nothing(robota: Robota) -> None:
    loaded = modules_after(robota, "--version")
    assert loaded & {"asyncio", "msgspec", "argparse", "httpx2", "yaml", "json", "pathlib"} == set()
    assert robota_rooms(loaded) <= {"robota", "robota.cli", "robota.version"}


def test_help_needs_no_event_loop(robota: Robota) -> None:
    assert modules_after(robota, "--help") & {"asyncio", "httpx2", "yaml", "ssl"} == set()


@pytest.fixture
def one_shot(robota: Robota) -> set[str]:
    """Print mode with the scripted model and a JSON script."""
    script = robota.workspace / "script.json"
    script.write_text(json.dumps(SCRIPT))
    settings = robota.home / ".robota/settings.json"
    settings.parent.mkdir()
    profile = {"type": "scripted", "model": "scripted", "options": {"script": str(script)}}
    settings.write_text(json.dumps({"currentProvider": "scripted", "providers": {"scripted": profile}}))
    return modules_after(robota, "-p", "Say hello.")


def test_print_mode_draws_nothing_and_serves_nothing(one_shot: set[str]) -> None:
    assert one_shot & (UI_LIBRARIES | SERVERS_AND_PROTOCOLS) == set()


def test_print_mode_with_a_script_needs_no_network_and_no_yaml(one_shot: set[str]) -> None:
    assert one_shot & {"httpx2", "httpcore2", "h11", "truststore", "yaml"} == set()


def test_print_mode_imports_one_client(one_shot: set[str]) -> None:
    clients = {name for name in one_shot if name.startswith("robota.clients.")}
    assert clients
    assert {name.split(".")[2] for name in clients} <= {"headless", "render", "terminal", "view"}


def test_print_mode_imports_one_output_format(one_shot: set[str]) -> None:
    formats = {"json_format", "messages_format", "stream_json", "reply_stream"}
    assert {
        name.rpartition(".")[2] for name in one_shot if name.startswith("robota.clients.headless.")
    } & formats == set()
    assert "robota.clients.render.line_transcript" not in one_shot


def test_print_mode_leaves_the_slow_standard_library_alone(one_shot: set[str]) -> None:
    slow = {"copy", "dataclasses", "difflib", "email", "importlib.metadata", "shutil", "tempfile"}
    assert one_shot & slow == set()


def test_print_mode_loads_tools_but_not_what_they_work_with(one_shot: set[str]) -> None:
    assert "robota.tools.files.search_files" in one_shot
    assert needed_later(one_shot) == []


def test_print_mode_loads_few_modules(one_shot: set[str]) -> None:
    assert len([name for name in one_shot if name.split(".")[0] == "robota"]) <= MOST_MODULES


@pytest.mark.parametrize(
    ("words", "families"),
    [(("-p", "/cost"), {"cost", "proof"}), (("-p", "/help"), {"conversation"}), (("help", "memory"), {"memory"})],
)
def test_a_command_loads_only_its_own_family(robota: Robota, words: tuple[str, ...], families: set[str]) -> None:
    loaded = modules_after(robota, *words)
    assert {name.rpartition(".")[2] for name in loaded if name.startswith(PACKAGES)} == families


@pytest.mark.parametrize("words", ["sessions list", "config path", "skills list"])
def test_a_verb_that_waits_for_nothing_needs_no_event_loop(robota: Robota, words: str) -> None:
    assert "asyncio" not in modules_after(robota, *words.split())


def test_what_is_needed_later_is_there() -> None:
    """A module that was moved must be named anew, or nobody would look for it any more."""
    names = (*NEEDED_LATER.split(), *AFTER_THE_SCREEN.split())
    assert [name for name in names if find_spec(f"robota.{name}") is None] == []


def test_a_first_screen_loads_only_what_it_shows(robota: Robota) -> None:
    profiles = {"p": {"type": "scripted", "options": SCRIPT}}
    # The search for a newer version runs beside the screen and would be counted or not, as it happens.
    write_settings(robota, {"currentProvider": "p", "providers": profiles, "updateCheck": {"enabled": False}})
    found = robota.home / "modules"
    program = (
        "import sys; from robota.cli.main import main; main([]); open(sys.argv[1], 'w').write(' '.join(sys.modules))"
    )
    with Terminal(
        robota,
        "-c",
        program,
        str(found),
        env={"TERM": "xterm", "TMPDIR": str(robota.home)},
        size=(80, 24),
        program=sys.executable,
    ) as terminal:
        terminal.wait_for("Idle")
        terminal.press("\x04")
        assert terminal.end() == 0
    loaded = set(found.read_text().split())
    assert "robota.clients.tui.app" in loaded
    assert (
        loaded & {"prompt_toolkit.shortcuts", "prompt_toolkit.widgets", "rich", "pygments", "httpx2", "email.utils"}
        == set()
    )
    assert named(loaded, AFTER_THE_SCREEN) == []
    assert len([name for name in loaded if name.split(".")[0] == "robota"]) <= MOST_FOR_A_SCREEN


def test_an_answer_from_a_server_needs_no_second_http_library(robota: Robota) -> None:
    async def run() -> set[str]:
        async with raw_server(sending(GOOD)) as server:
            profile = {"type": "openai-compatible", "baseURL": f"{server.url}/v1", "model": "m"}
            write_settings(robota, {"currentProvider": "fake", "providers": {"fake": profile}})
            return await asyncio.to_thread(modules_after, robota, "-p", "Say hello.")

    loaded = asyncio.run(run())
    assert "httpx2" in loaded
    assert loaded & {"httpcore2", "anyio", "trio", "truststore"} == set()
    assert needed_later(loaded) == []


def test_the_http_client_waits_for_the_first_request() -> None:
    """It would be most of what an interactive start loads for its model, before anything is drawn."""
    program = (
        "import sys\n"
        "from robota.config.profiles.profile import Profile\n"
        "from robota.providers.registry import open_provider\n"
        "for kind in ('openai-compatible', 'anthropic', 'openai', 'gemini'):\n"
        "    open_provider(Profile(type=kind, name='p', model='m', base_url='http://127.0.0.1:9', api_key='k'))\n"
        "print(sorted({'httpx2', 'h11'} & sys.modules.keys()))\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout == "[]\n"


def needed_later(loaded: set[str]) -> list[str]:
    return named(loaded, NEEDED_LATER)


def named(loaded: set[str], these: str) -> list[str]:
    names = [f"robota.{name}" for name in these.split()]
    return sorted(each for each in loaded if any(each == name or each.startswith(f"{name}.") for name in names))


def robota_rooms(loaded: set[str]) -> set[str]:
    return {".".join(name.split(".")[:2]) for name in loaded if name.split(".")[0] == "robota"}

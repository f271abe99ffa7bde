"""Start-up time is a contract: what each way of starting must not import."""

import asyncio
import json

import pytest

from tests.cli.scripts import write_settings
from tests.harness.cli import Robota
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
# What only a call of a tool needs.
NEEDED_LATER = {
    "robota.tools.editing.change",
    "robota.tools.editing.diff",
    "robota.tools.editing.find_text",
    "robota.tools.editing.patch_format",
    "robota.workspace.output.page",
    "robota.workspace.output.search",
    "robota.workspace.search.content",
    "robota.workspace.search.names",
}
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
    assert "robota.clients.render.progress" not in one_shot


def test_print_mode_leaves_the_slow_standard_library_alone(one_shot: set[str]) -> None:
    assert one_shot & {"dataclasses", "difflib", "email", "importlib.metadata", "tempfile"} == set()


def test_print_mode_loads_tools_but_not_what_they_work_with(one_shot: set[str]) -> None:
    assert "robota.tools.files.search_files" in one_shot
    assert one_shot & NEEDED_LATER == set()


def test_an_answer_from_a_server_needs_no_second_http_library(robota: Robota) -> None:
    async def run() -> set[str]:
        async with raw_server(sending(GOOD)) as server:
            profile = {"type": "openai-compatible", "baseURL": f"{server.url}/v1", "model": "m"}
            write_settings(robota, {"currentProvider": "fake", "providers": {"fake": profile}})
            return await asyncio.to_thread(modules_after, robota, "-p", "Say hello.")

    loaded = asyncio.run(run())
    assert "httpx2" in loaded
    assert loaded & ({"httpcore2", "anyio", "trio", "truststore"} | NEEDED_LATER) == set()


def robota_rooms(loaded: set[str]) -> set[str]:
    return {".".join(name.split(".")[:2]) for name in loaded if name.split(".")[0] == "robota"}

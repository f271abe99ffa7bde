"""Language servers that behave in every bad way: answers that come late, wrong, cut or never."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from robota.workspace.code.answer import Certainty, Described, Findings, Places
from robota.workspace.code.reading_code import ReadingCode
from robota.workspace.code.session_code import SessionCode
from robota.workspace.files.files import LocalFiles
from robota.workspace.language_servers import server as server_module
from robota.workspace.language_servers.catalogue import ServerKind
from robota.workspace.language_servers.session_servers import LanguageServers
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.wrapped_command import SandboxAccess, WrappedCommand
from tests.tools.workbench import CodeOfBench, Workbench

SCRIPT = Path(__file__).with_name("scripted_server.py")
SOURCE = "def fetch():\n    return 1\n\n\nfetch()\nbad = 1\n"


def wrapped(command: Sequence[str], cwd: Path, access: SandboxAccess) -> WrappedCommand:
    """In place of a sandbox: what servers can do in one is tested with real servers."""
    assert access.is_read_only
    return WrappedCommand(argv=tuple(command))


class Place:
    """A workspace with a scripted server for Python."""

    def __init__(self, workspace: Path, kind: ServerKind, *, is_trusted: bool = True) -> None:
        self.root = workspace
        (workspace / "a.py").write_text(SOURCE)
        self.files = LocalFiles(workspace)
        self.processes = LocalProcesses(wrap=wrapped)

        def is_hidden(path: str) -> bool:
            return self.files.is_ignored(path) or path == "secrets.py"

        self.servers = LanguageServers(
            self.files,
            self.files.is_ignored,
            self.processes,
            (kind,),
            environment={},
            is_trusted=is_trusted,
        )
        self.code = SessionCode(self.files, ReadingCode(self.files, is_hidden, None), self.servers)

    async def references(self) -> Places:
        found = await self.code.ask("references", "fetch", None, None)
        assert isinstance(found, Places)
        return found

    async def log(self) -> list[object]:
        """What the server was sent."""
        found = await self.code.ask("hover", "fetch", None, None)
        assert isinstance(found, Described)
        logged: list[object] = json.loads(found.text.partition("\n\n")[2])
        return logged


def kind(**plan: object) -> ServerKind:
    command = (sys.executable, str(SCRIPT), json.dumps(plan))
    return ServerKind(name="scripted", command=command, languages={".py": "python"}, runs_workspace_code=False)


def tell(workspace: Path, story: Callable[[Place], Awaitable[None]], **plan: object) -> None:
    async def told() -> None:
        place = Place(workspace, kind(**plan))
        try:
            await story(place)
        finally:
            await place.code.close()
            place.processes.close()

    asyncio.run(told())


@pytest.mark.parametrize("plan", [{}, {"links": True}, {"bare": True}, {"encoding": "utf-8"}, {"sync": 2}])
def test_places_come_in_every_form_that_servers_use(workspace: Path, plan: dict[str, object]) -> None:
    async def story(place: Place) -> None:
        found = await place.references()
        assert [(use.path, use.line, use.column) for use in found.places] == [("a.py", 1, 5)]
        assert (found.certainty, found.source) == (Certainty.EXACT, "scripted 1")
        assert [(use.path, use.line) for use in found.others] == [("a.py", 5)]

    tell(workspace, story, **plan)


def test_lines_of_files_that_the_model_is_not_to_see_are_not_shown(workspace: Path) -> None:
    """Whatever a server names: a hidden file, or one outside by way of the workspace."""
    (workspace / "secrets.py").write_text("fetch = 'hidden'\n")

    async def story(place: Place) -> None:
        found = await place.references()
        assert found.places == () and found.certainty is Certainty.EXACT

    for hidden in ("secrets.py", "../../../etc/passwd"):
        tell(workspace, story, at=f"file://{workspace}/{hidden}")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_mean_the_same_in_every_encoding(workspace: Path, encoding: str) -> None:
    async def story(place: Place) -> None:
        (place.root / "a.py").write_text("x = '𝒳ß'; fetch = 1\n")
        found = await place.code.ask("references", "fetch", "a.py", 1)
        assert isinstance(found, Places) and [use.column for use in found.places] == [11]

    tell(workspace, story, encoding=encoding)


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"dies": "initialize"}, "it ended"),
        ({"fails": "initialize"}, "it does not want to"),
        ({"floods": "initialize"}, "a message has 99,999,999,999 bytes"),
        ({"garbage": "initialize"}, "a message is not valid"),
        ({"dies": "textDocument/references"}, "it ended"),
        ({"fails": "textDocument/references"}, "it does not want to"),
        ({"garbage": "textDocument/references"}, "a message is not valid"),
    ],
)
def test_without_an_answer_the_grammar_answers_and_says_why(
    workspace: Path, plan: dict[str, object], reason: str
) -> None:
    async def story(place: Place) -> None:
        for _ in range(5):
            found = await place.references()
            assert [use.line for use in found.places] == [1, 5]
            assert found.certainty is Certainty.SYNTACTIC and reason in found.reason

    tell(workspace, story, **plan)


@pytest.mark.parametrize("method", ["initialize", "textDocument/references"])
def test_a_server_that_hangs_is_not_waited_for(workspace: Path, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "START_S", 0.5)
    monkeypatch.setattr(server_module, "ANSWER_S", 0.5)

    async def story(place: Place) -> None:
        found = await place.references()
        assert found.certainty is Certainty.SYNTACTIC and "no answer within" in found.reason

    tell(workspace, story, hang=method)


@pytest.mark.parametrize(
    "plan", [{"pulls": "static"}, {"pulls": "dynamic"}, {"publishes": True}, {"publishes": "versioned"}]
)
def test_diagnostics_however_a_server_gives_them(workspace: Path, plan: dict[str, object]) -> None:
    async def story(place: Place) -> None:
        found = await place.code.diagnostics("a.py")
        assert isinstance(found, Findings) and found.findings is not None
        assert [(each.line, each.severity, each.code) for each in found.findings] == [(6, 1, "bad-line")]
        (place.root / "a.py").write_text("good = 1\n")
        assert (await place.code.diagnostics("a.py")).findings == ()

    tell(workspace, story, **plan)


def test_diagnostics_of_another_version_and_none_at_all_mean_unknown(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robota.workspace.code.session_code.DIAGNOSTICS_S", 0.5)
    for plan in ({"publishes": "stale"}, {}):

        async def story(place: Place) -> None:
            assert (await place.code.diagnostics("a.py")).findings is None

        tell(workspace, story, **plan)


def test_a_server_is_told_what_others_changed(workspace: Path) -> None:
    async def story(place: Place) -> None:
        await place.references()
        (place.root / "a.py").write_text(SOURCE.replace("bad", "good"))
        (place.root / "b.py").write_text("x = 1\n")
        log = await place.log()
        uri = f"file://{place.root}"
        assert [
            "workspace/didChangeWatchedFiles",
            [{"uri": f"{uri}/b.py", "type": 1}, {"uri": f"{uri}/a.py", "type": 2}],
        ] in log
        assert "textDocument/didChange" in log

    tell(workspace, story)


def test_a_server_that_runs_code_of_the_project_needs_trust(workspace: Path) -> None:
    async def story(place: Place) -> None:
        found = await place.references()
        assert found.reason == "scripted runs code of the project, which is not trusted"

    async def told() -> None:
        trusting = ServerKind(name="scripted", command=kind().command, languages={".py": "python"})
        place = Place(workspace, trusting, is_trusted=False)
        await story(place)
        await place.code.close()
        place.processes.close()

    asyncio.run(told())


def test_the_result_of_an_edit_says_what_it_broke_and_fixed(workspace: Path) -> None:
    async def story(place: Place) -> None:
        bench = Workbench(place.root)
        bench.code = CodeOfBench(place.code)

        async def edited(old: str, new: str) -> str:
            result = await bench.call_in_loop("edit_file", path="a.py", old_string=old, new_string=new)
            return result.content

        await bench.call_in_loop("read_file", path="a.py")
        assert "scripted" not in await edited("return 1", "return 2"), "no server runs yet"
        await place.code.diagnostics("a.py")
        broken = await edited("return 2", "return bad")
        assert broken.endswith("scripted 1: this edit adds 1 problem.\na.py:2:1 error this is bad")
        assert (await edited("return bad", "return 1")).endswith("scripted 1: this edit fixes 1 problem.")
        assert "scripted" not in await edited("return 1", "return 2")

    tell(workspace, story, pulls="static")


def test_a_server_that_does_not_answer_in_time_is_said_to_be_unknown(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robota.workspace.code.session_code.EDIT_S", 0.3)

    async def story(place: Place) -> None:
        bench = Workbench(place.root)
        bench.code = CodeOfBench(place.code)
        await place.references()
        await bench.call_in_loop("read_file", path="a.py")
        result = await bench.call_in_loop("edit_file", path="a.py", old_string="return 1", new_string="return 2")
        call = 'code {"what":"diagnostics","path":"a.py"}'
        assert result.content.endswith(f"scripted 1 did not say in time what this edit broke. Ask later: {call}")

    tell(workspace, story, hang="textDocument/diagnostic", pulls="static")


def test_nothing_is_left_when_the_session_ends(workspace: Path) -> None:
    async def story(place: Place) -> None:
        await place.references()
        server = place.servers.warm("a.py")
        assert server is not None
        pids.extend(_children())

    pids: list[str] = []
    tell(workspace, story)
    assert pids and not any(Path(f"/proc/{pid}").exists() for pid in pids)


def _children() -> list[str]:
    every = (each for task in Path("/proc/self/task").iterdir() for each in (task / "children").read_text().split())
    return [each for each in every if b"scripted_server" in Path(f"/proc/{each}/cmdline").read_bytes()]

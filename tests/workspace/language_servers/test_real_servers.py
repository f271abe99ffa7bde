"""Real language servers in the real sandbox."""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from robota.workspace.code.answer import Certainty, CodeAnswer, Findings, Places
from robota.workspace.code.question import Question
from robota.workspace.code.reading_code import ReadingCode
from robota.workspace.code.session_code import SessionCode
from robota.workspace.files.files import LocalFiles
from robota.workspace.language_servers.catalogue import SERVERS
from robota.workspace.language_servers.session_servers import LanguageServers
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.sandbox.session_sandbox import SessionSandbox

PROGRAMS = Path(sys.executable).parent
STORE = """class Base:
    def load(self, key: str) -> int:
        return 1


class Store(Base):
    def load(self, key: str) -> int:
        return super().load(key) + 1


def open_store(path: str) -> Store:
    return Store()
"""
APP = """from pkg.store import open_store


def main() -> None:
    store = open_store("x")
    print(store.load("load"))
    store.load(3)
"""


class Project:
    """A project in Python, its sandbox, and what answers questions about it."""

    def __init__(self, root: Path, home: Path, path: str, *, is_trusted: bool) -> None:
        (root / "pkg").mkdir()
        (root / "pkg/__init__.py").write_text("")
        (root / "pkg/store.py").write_text(STORE)
        (root / "pkg/app.py").write_text(APP)
        self.root = root
        self.files = LocalFiles(root)
        user = home / ".robota"
        user.mkdir()
        self.sandbox = SessionSandbox(root, home=home, user_directory=user)
        self.processes = LocalProcesses(wrap=self.sandbox.wrap)
        self.servers = LanguageServers(
            self.files,
            self.files.is_ignored,
            self.processes,
            SERVERS,
            environment={"PATH": path},
            is_trusted=is_trusted,
        )
        self.code = SessionCode(self.files, ReadingCode(self.files, self.files.is_ignored, user / "code"), self.servers)

    async def places(
        self, question: Question, symbol: str, path: str | None = None, line: int | None = None
    ) -> list[str]:
        answer: CodeAnswer = await self.code.ask(question, symbol, path, line)
        assert isinstance(answer, Places) and answer.certainty is Certainty.EXACT, answer
        return [f"{use.path}:{use.line}" for use in answer.places]


def tell(
    root: Path,
    home: Path,
    story: Callable[[Project], Awaitable[None]],
    *,
    path: str = f"{PROGRAMS}:{os.environ['PATH']}",
    is_trusted: bool = False,
) -> None:
    async def told() -> None:
        project = Project(root, home, path, is_trusted=is_trusted)
        try:
            await story(project)
        finally:
            await project.code.close()
            project.processes.close()
            project.sandbox.close()

    asyncio.run(told())


# Commands have a /tmp of their own, so programs below that of the machine are not there for them.
needs_ty = pytest.mark.skipif(
    shutil.which("bwrap") is None or not (PROGRAMS / "ty").exists() or PROGRAMS.is_relative_to("/tmp"),
    reason="needs bubblewrap, and ty at a place that commands see",
)


@needs_ty
def test_ty_tells_methods_of_one_name_apart(workspace: Path, home: Path) -> None:
    async def story(project: Project) -> None:
        assert await project.places("references", "Base.load") == ["pkg/store.py:2", "pkg/store.py:8"]
        assert await project.places("references", "load", "pkg/app.py", 6) == [
            *("pkg/app.py:6", "pkg/app.py:7", "pkg/store.py:7"),
        ]
        assert await project.places("callers", "open_store") == ["pkg/app.py:5"]
        assert await project.places("definition", "open_store", "pkg/app.py", 5) == ["pkg/store.py:11"]

    tell(workspace, home, story)


@needs_ty
def test_ty_sees_what_a_command_changed(workspace: Path, home: Path) -> None:
    async def story(project: Project) -> None:
        found = await project.code.diagnostics("pkg/app.py")
        assert isinstance(found, Findings) and found.findings is not None
        assert [each.line for each in found.findings] == [7]
        (project.root / "pkg/app.py").write_text(APP.replace("load(3)", 'load("3")'))
        assert (await project.code.diagnostics("pkg/app.py")).findings == ()
        (project.root / "pkg/store.py").write_text(STORE.replace("key: str", "key: bytes"))
        found = await project.code.diagnostics("pkg/app.py")
        assert found.findings is not None and [each.line for each in found.findings] == [6, 7]

    tell(workspace, home, story)


@needs_ty
def test_an_edit_is_told_what_it_broke_and_nothing_else(workspace: Path, home: Path) -> None:
    async def story(project: Project) -> None:
        store, before = project.root / "pkg/store.py", STORE.encode()
        broken = before.replace(b"return 1\n", b"return 'one'\n")
        assert await project.code.effect_of_edit("pkg/store.py", before, broken) is None, "no server is started for it"
        await project.code.diagnostics("pkg/app.py")  # has an error, which no edit of the other file made
        assert await changed(project, store, before, broken) == [("pkg/store.py", [3], 0)]
        assert await changed(project, store, broken, before) == [("pkg/store.py", [], 1)]
        moved = b"import os\n\n" + before.replace(b"open_store(path: str)", b"open_store(path: int)")
        assert await changed(project, store, before, moved) == [("pkg/app.py", [5], 0)]

    tell(workspace, home, story)


async def changed(project: Project, path: Path, before: bytes, after: bytes) -> list[tuple[str, list[int], int]]:
    await asyncio.to_thread(path.write_bytes, after)
    effect = await project.code.effect_of_edit(str(path.relative_to(project.root)), before, after)
    assert effect is not None and effect.files is not None
    return [(each.path, [finding.line for finding in each.new], each.fixed) for each in effect.files]


@needs_ty
def test_a_planted_server_and_interpreter_do_not_run_without_trust(workspace: Path, home: Path) -> None:
    """Not even in the sandbox: a program that the repository brings is its code."""
    planted = workspace / ".venv/bin"
    planted.mkdir(parents=True)
    for name in ("ty", "python", "pyright-langserver"):
        (planted / name).write_text("#!/bin/sh\ntouch /tmp/planted\nexit 1\n")
        (planted / name).chmod(0o755)

    async def story(project: Project) -> None:
        assert await project.places("callers", "open_store") == ["pkg/app.py:5"]
        assert not (project.sandbox.backend.border.temporary / "planted").exists()

    tell(workspace, home, story)


@needs_ty
def test_a_server_can_change_nothing_and_reach_nobody(workspace: Path, home: Path) -> None:
    """A server that is taken over by what it reads is as confined as a command, and cannot even write the workspace."""
    program = workspace / ".venv/bin/ty"
    program.parent.mkdir(parents=True)
    program.write_text(
        '#!/bin/sh\necho x > pkg/evil.py; echo x >> pkg/app.py; echo x > "$HOME/ok"; '
        "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' > /tmp/net; exit 1\n"
    )
    program.chmod(0o755)

    async def story(project: Project) -> None:
        answer = await project.code.ask("callers", "open_store", None, None)
        assert isinstance(answer, Places) and "did not start" in answer.reason
        inside = project.sandbox.backend.border.temporary
        assert (inside / "guest/ok").exists() and (inside / "net").read_text() == "lo\n"
        assert not (project.root / "pkg/evil.py").exists() and (project.root / "pkg/app.py").read_text() == APP

    tell(workspace, home, story, path="/usr/bin:/bin", is_trusted=True)

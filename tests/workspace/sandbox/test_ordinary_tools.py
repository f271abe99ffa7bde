"""The walls are worth nothing if people switch them off: what a coding agent runs all day works inside."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.workspace.sandbox.backend import SandboxKind
from tests.workspace.sandbox.cells import KINDS, PYTHON, Cell

PARALLEL = """
import asyncio, subprocess, tempfile, threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

async def child():
    process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    return (await process.communicate(b"x"))[0]

if __name__ == "__main__":
    with ProcessPoolExecutor(2) as processes, ThreadPoolExecutor(2) as threads:
        assert list(processes.map(abs, [-1])) == list(threads.map(abs, [-1])) == [1]
    assert asyncio.run(child()) == b"x"
    assert subprocess.check_output(["echo", "x"]) == b"x\\n"
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    print("ok")
"""
MANAGER = """
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.Manager() as manager:
        print(manager.list([1]))
"""
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
static void *say(void *word) { puts(word); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, say, "ok"); return pthread_join(t, 0); }
"""
NODE = """
const {Worker} = require("worker_threads");
require("fs").writeFileSync("file", "x");
new Worker("", {eval: true}).on("exit", () => console.log(String(require("child_process").execSync("cat file"))));
"""
MAKEFILE = "all: program\n\t./program\nprogram: program.c\n\tcc -o $@ $< -pthread\n"
JOBS = "set -m; sleep 1000 & kill -STOP %1; kill -CONT %1; jobs %1 > /dev/null && kill %1; wait %1; echo $?"
PTY = "import os, pty; pty.spawn(['sh', '-c', 'test -t 0 && stty size >/dev/null && echo ok'])"
GIT = (
    "git init -q inner && cd inner && echo x > a && git add a && git -c user.email=a@example.com -c user.name=a "
    "commit -q -m x && git status --porcelain && git log --format=%s && git gc -q && git clone -q . ../copy && echo ok"
)


@pytest.fixture(params=KINDS)
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    """In a place with a short name: the path of a socket must not be long, and the real directory's is not."""
    with tempfile.TemporaryDirectory(prefix="rb-") as base:
        yield Cell(request.param, Path(base).resolve())


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} here")


def succeeds(cell: Cell, command: str, output: str) -> None:
    done = cell.run(command)
    assert (done.returncode, done.stdout) == (0, output), done.stderr


def test_python_with_processes_threads_and_loops(cell: Cell) -> None:
    (cell.root / "parallel.py").write_text(PARALLEL)
    succeeds(cell, f"{PYTHON} parallel.py", "ok\n")


def test_processes_that_listen_on_named_sockets(cell: Cell) -> None:
    """Landlock would let them connect to services of the user as well, so there they cannot."""
    (cell.root / "manager.py").write_text(MANAGER)
    done = cell.run(f"{PYTHON} manager.py")
    expected = (1, "") if cell.kind is SandboxKind.LANDLOCK else (0, "[1]\n")
    assert (done.returncode, done.stdout) == expected, done.stderr


def test_python_tests_and_pip(cell: Cell) -> None:
    (cell.root / "test_one.py").write_text("import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n")
    assert cell.run(f"{PYTHON} -m unittest -q").returncode == 0
    if cell.run(f"{PYTHON} -c 'import pip'").returncode == 0:
        assert cell.run(f"{PYTHON} -m pip --version").stdout.startswith("pip ")


def test_a_compiler_and_make(cell: Cell) -> None:
    needs("cc", "make")
    (cell.root / "program.c").write_text(PROGRAM)
    (cell.root / "Makefile").write_text(MAKEFILE)
    succeeds(cell, "make -s -j2", "ok\n")


def test_git_in_a_repository_of_its_own(cell: Cell) -> None:
    succeeds(cell, GIT, "x\nok\n")


def test_git_looks_at_the_workspace(cell: Cell) -> None:
    subprocess.run(["git", "init", "-q"], cwd=cell.root, check=True)
    (cell.root / "new").touch()
    succeeds(cell, "git status --porcelain; git diff --stat", "?? new\n")


def test_node(cell: Cell) -> None:
    needs("node")
    (cell.root / "script.js").write_text(NODE)
    succeeds(cell, "node script.js", "x\n")


def test_job_control_of_bash(cell: Cell) -> None:
    succeeds(cell, JOBS, "143\n")


def test_here_documents_pipes_and_process_substitution(cell: Cell) -> None:
    succeeds(cell, "cat <<E | sort | tee copy\nb\na\nE\ncat <(echo c) copy | wc -l", "a\nb\n3\n")


@pytest.mark.parametrize("cell", [SandboxKind.BUBBLEWRAP], indirect=True)
def test_a_terminal_of_its_own(cell: Cell) -> None:
    succeeds(cell, f'{PYTHON} -c "{PTY}"', "ok\n")

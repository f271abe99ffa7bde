"""Forks a Python that has imported the dependencies and the modules of every session, for each `robota` of a test.

Two thirds of the CPU time of a short run, and nearly all of it with MCP servers, is importing them. What is tested
starts as it always does: the installed script is run from its first line, in a process of its own with the streams, the
working directory and the environment that the test gives it. What a start imports, and that it can, is tested in new
interpreters: by `tests/startup`, by all tests at a terminal, and by all others in `make coverage`.

Run as a program with the path of a Unix socket to listen on. It ends when its standard input does.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

LENGTH_BYTES: Final = 8
STREAMS: Final = 3
# What sessions and commands import, apart from `robota`. One that is missing is imported when it is needed, or never.
LIBRARIES: Final = (
    *("argparse", "ast", "asyncio", "base64", "calendar", "ctypes", "datetime", "difflib", "email.utils", "fcntl"),
    *("fnmatch", "getpass", "glob", "gzip", "hashlib", "heapq", "hmac", "html", "http.client", "inspect", "ipaddress"),
    *("json", "locale", "logging", "mimetypes", "pathlib", "platform", "pwd", "queue", "random", "secrets", "select"),
    *("shlex", "shutil", "sqlite3", "ssl", "string", "subprocess", "tarfile", "tempfile", "termios", "textwrap"),
    *("tomllib", "traceback", "tty", "unicodedata", "urllib.parse", "urllib.request", "uuid", "zipfile", "zlib"),
    *("anyio", "anyio._backends._asyncio", "httpx2", "mcp", "mcp.client.auth", "mcp.client.streamable_http", "msgspec"),
)
# What most sessions import, with all that these import in turn.
MODULES: Final = (
    *("robota.app.protection.hidden_files", "robota.app.session", "robota.cli.arguments", "robota.cli.main"),
    *("robota.cli.run.prompt", "robota.clients.headless.client", "robota.clients.headless.text_format"),
    *("robota.engine.calls.executor", "robota.engine.session.task_factory", "robota.policy.shell.decide_command"),
    *("robota.providers.scripted.provider", "robota.tools.command.background_process"),
    *("robota.tools.command.execute_command", "robota.tools.editing.edit_file", "robota.tools.editing.write_to_file"),
    *("robota.tools.files.glob", "robota.tools.files.read_file", "robota.workspace.checkpoints.store"),
    *(
        "robota.workspace.process.foreground",
        "robota.workspace.sandbox.backend",
        "robota.workspace.sandbox.private_tmp",
    ),
    *("robota.workspace.shell.grammar",),
)


class Request:
    """A run that was asked for: what to run, and the connection on which its exit status is told."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        head, self.streams, _, _ = socket.recv_fds(connection, LENGTH_BYTES, STREAMS)
        with connection.makefile("rb") as reader:
            head += reader.read(LENGTH_BYTES - len(head))
            self.run: dict[str, Any] = json.loads(reader.read(int.from_bytes(head)))


def main(path: str) -> None:
    """Serve until nobody is left to ask; in a fork, run what was asked for and end as it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C at a terminal is for the tests.
    import_all(LIBRARIES)
    import_without_environment(MODULES)
    gc.collect()
    gc.freeze()
    run = serve(path)
    if run is not None:
        sys.argv = run["arguments"]
        sys.path[0] = str(Path(sys.argv[0]).parent)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        runpy.run_path(sys.argv[0], run_name="__main__")


def import_all(names: Iterable[str]) -> None:
    """Import those that can be; whoever needs one of the others meets the error."""
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


def import_without_environment(names: Iterable[str]) -> None:
    """Leave those that read the environment meanwhile to the forks, because theirs is another."""
    with patch.object(os, "environ", Unreadable()):
        import_all(names)


class Unreadable:
    """Stands for an environment that is not known yet."""

    def __getattribute__(self, name: str) -> Any:
        raise ImportError("the environment is read while a module is imported")

    def __getitem__(self, name: str) -> str:
        raise ImportError("the environment is read while a module is imported")

    __contains__ = __iter__ = __getitem__


def serve(path: str) -> dict[str, Any] | None:
    """Fork for each request; returns in each fork with what to run, and with None at the end."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    print("listening", flush=True)
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        ready, _, _ = select.select([0, listener.fileno(), *running], [], [])
        for process in ready:
            if process in running:
                tell_end(process, *running.pop(process))
        if 0 in ready:
            return None
        if listener.fileno() in ready:
            request = Request(listener.accept()[0])
            pid = os.fork()
            if pid == 0:
                become(request, [listener, *(connection for _, connection in running.values())], list(running))
                return request.run
            request.connection.sendall(pid.to_bytes(LENGTH_BYTES))
            for stream in request.streams:
                os.close(stream)
            running[os.pidfd_open(pid)] = pid, request.connection


def tell_end(process: int, pid: int, connection: socket.socket) -> None:
    """Tell who asked for the run how it ended."""
    os.close(process)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(BrokenPipeError), connection:
        connection.sendall(code.to_bytes(LENGTH_BYTES, signed=True))


def become(request: Request, sockets: list[socket.socket], descriptors: list[int]) -> None:
    """Give this process the streams, the directory and the environment of the run, and nothing of the server."""
    for each in (request.connection, *sockets):
        each.close()
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
    for descriptor in (*descriptors, *request.streams):
        os.close(descriptor)
    os.chdir(request.run["directory"])
    os.environ.clear()
    os.environ.update(request.run["environment"])


if __name__ == "__main__":
    main(sys.argv[1])

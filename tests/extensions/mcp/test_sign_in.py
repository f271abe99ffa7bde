"""OAuth sign-in to a remote MCP server: browser redirect, private storage and refresh of tokens."""

import json
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2
import pytest

from tests.cli.scripts import call, sessions
from tests.extensions.mcp.setup import DONE, configure
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.session_log import log_text

SERVER = Path(__file__).with_name("oauth_server.py")
SECRET = [{"calls": [call("mcp__far__secret")]}, DONE]
ALLOW = ("--allowed-tools", "mcp__far")


class FarServer:
    """A server that requires a sign-in."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [sys.executable, str(SERVER), str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert self.process.stderr is not None
        while b"running on" not in self.process.stderr.readline():
            assert self.process.poll() is None
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    @property
    def entry(self) -> dict[str, str]:
        return {"type": "http", "url": f"http://127.0.0.1:{self.port}/mcp"}


@pytest.fixture
def server() -> Iterator[FarServer]:
    far = FarServer()
    try:
        yield far
    finally:
        far.process.kill()
        far.process.wait()


def sign_in(robota: Robota, browse: bool = True, strays: Sequence[str] = ()) -> tuple[int, str]:
    """Run `robota mcp login`, and open its URL like a browser; before that, send requests that nobody waits for."""
    command = [str(EXECUTABLE), "mcp", "login", "far", "--no-browser"]
    environment = clean_environment(robota.home)
    with subprocess.Popen(
        command, cwd=robota.workspace, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as login:
        assert login.stdout is not None
        assert "Sign in at this URL" in login.stdout.readline()
        address = login.stdout.readline().strip()
        for query in strays:
            back = httpx2.QueryParams(address.partition("?")[2])["redirect_uri"]
            assert "Nothing is expected" in httpx2.get(f"{back}{query}").text
        if browse:
            httpx2.get(address, follow_redirects=True)
        else:
            asked = httpx2.QueryParams(address.partition("?")[2])
            httpx2.get(f"{asked['redirect_uri']}?error=access_denied&state={asked['state']}")
        output = login.stdout.read()
        return login.wait(), output


def kept_files(robota: Robota) -> list[Path]:
    return list((robota.home / ".robota/mcp-sign-in").glob("*.json"))


def test_a_missing_sign_in_names_the_login_command(robota: Robota, server: FarServer) -> None:
    configure(robota, {"far": server.entry}, SECRET)
    done = robota("-p", "go", *ALLOW)
    assert "it requires the user to sign in. Sign in: robota mcp login far" in done.stderr
    assert kept_files(robota) == []


def test_tools_are_available_between_login_and_logout(robota: Robota, server: FarServer) -> None:
    configure(robota, {"far": server.entry}, SECRET)
    code, output = sign_in(robota)
    assert code == 0, output
    assert "You are signed in to far. It has 1 tool." in output
    [kept] = kept_files(robota)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    done = robota("-p", "go", *ALLOW)
    log = log_text(sessions(robota)[-1])
    assert "the vault is open" in log, done.stderr
    assert json.loads(kept.read_text())["tokens"]["access_token"] not in log + done.stdout + done.stderr
    assert "signed out" in robota("mcp", "logout", "far").stdout and kept_files(robota) == []


def test_a_token_that_expired_is_refreshed(robota: Robota, server: FarServer) -> None:
    configure(robota, {"far": server.entry}, SECRET)
    code, output = sign_in(robota)
    assert code == 0, output
    [kept] = kept_files(robota)
    before = json.loads(kept.read_text())
    kept.write_text(json.dumps({**before, "expires_at": 1.0}))
    done = robota("mcp", "test", "far")
    assert done.code == 0, done.stderr + done.stdout
    after = json.loads(kept.read_text())
    assert after["tokens"]["refresh_token"] != before["tokens"]["refresh_token"]
    assert after["expires_at"] > before["expires_at"] - 60


def test_a_revoked_sign_in_is_reported(robota: Robota, server: FarServer) -> None:
    configure(robota, {"far": server.entry}, SECRET)
    assert sign_in(robota)[0] == 0
    [kept] = kept_files(robota)
    before = json.loads(kept.read_text())
    forged = {**before["tokens"], "access_token": "x", "refresh_token": "y"}
    kept.write_text(json.dumps({**before, "tokens": forged, "expires_at": 1.0}))
    done = robota("mcp", "test", "far")
    assert done.code == 1
    assert "the sign-in of the user is no longer valid. Sign in: robota mcp login far" in done.stdout


def test_a_refused_sign_in_stores_nothing(robota: Robota, server: FarServer) -> None:
    configure(robota, {"far": server.entry}, SECRET)
    code, output = sign_in(robota, browse=False)
    assert code == 1 and "the server said access_denied" in output
    assert kept_files(robota) == []


def test_requests_of_others_do_not_decide_a_sign_in(robota: Robota, server: FarServer) -> None:
    """Any page in the browser can send requests to a local port; only the redirect knows the state."""
    configure(robota, {"far": server.entry}, SECRET)
    strays = ("", "?code=stolen", "?error=access_denied", "?code=stolen&state=", "?code=stolen&state=guessed")
    code, output = sign_in(robota, strays=strays)
    assert (code, "You are signed in to far" in output) == (0, True)
    assert len(kept_files(robota)) == 1


def test_a_stdio_server_has_no_sign_in(robota: Robota) -> None:
    configure(robota, {"local": {"command": "true"}}, [DONE])
    assert "there is nothing to sign in to" in robota("mcp", "login", "local").stderr

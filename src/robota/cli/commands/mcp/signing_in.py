"""`robota mcp login` and `logout`: sign in to a server with a browser, which is redirected to a local port."""

import argparse
import asyncio
import os
import sys
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from robota.config.errors import ConfigError
from robota.config.settings.load import load_settings
from robota.extensions.mcp.configured_servers import load_servers
from robota.extensions.mcp.definitions import HttpServer
from robota.extensions.mcp.sign_in_store import SignInStore
from robota.text.counted import counted
from robota.text.visible import single_line
from robota.workspace.user_programs.browser import open_page

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

EXIT_SUCCESS: Final = 0
EXIT_FAILED: Final = 1
LIMIT_S: Final = 600
MAX_REQUEST_BYTES: Final = 16 * 1024
MAX_ADDRESS_LENGTH: Final = 8000
DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY")
PAGE: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n%s\n"


def run(options: argparse.Namespace) -> int:
    """Run the action."""
    server = _server(options.server, options.root)
    store = SignInStore(os.environ)
    if options.action == "logout":
        outcome = "You are signed out of" if store.forget(server.url) else "You were not signed in to"
        print(f"{outcome} {server.name}.")
        return EXIT_SUCCESS
    return asyncio.run(_login(server, store, opens_browser=not options.no_browser))


def _server(name: str, root: Path) -> HttpServer:
    servers = load_servers(load_settings(root, os.environ), os.environ).servers
    found = next((server for server in servers if server.name == name), None)
    if found is None:
        known = ", ".join(server.name for server in servers) or "none"
        raise ConfigError(f"There is no MCP server {single_line(name)!r} here. Available: {known}.")
    if not isinstance(found, HttpServer):
        raise ConfigError(f"{name} is a local program; there is nothing to sign in to.")
    return found


async def _login(server: HttpServer, store: SignInStore, *, opens_browser: bool) -> int:
    from robota.extensions.mcp.sdk import sign_in
    from robota.extensions.mcp.sign_in import Browser

    waiting = ReturnPort()
    async with await asyncio.start_server(waiting.serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]

        async def go_to(address: str) -> None:
            waiting.expect(address)
            print(f"Sign in at this URL:\n{single_line(address, MAX_ADDRESS_LENGTH)}", flush=True)
            if opens_browser and (sys.platform == "darwin" or any(map(os.environ.get, DISPLAYS))):
                await asyncio.to_thread(open_page, address, os.environ, Path.cwd())

        browser = Browser(redirect_to=f"http://127.0.0.1:{port}/callback", go_to=go_to, come_back=waiting.answer)
        try:
            async with asyncio.timeout(LIMIT_S):
                tools = await sign_in(server, store, browser)
        except Exception as error:  # noqa: BLE001 - a boundary: a server can fail in many ways
            store.forget(server.url)
            print(f"robota: You are not signed in to {server.name}: {_innermost(error)}", file=sys.stderr)
            return EXIT_FAILED
    if store.load(server.url) is None:
        print(f"{server.name} works without signing in. It has {counted(tools, 'tool')}.")
    else:
        print(f"You are signed in to {server.name}. It has {counted(tools, 'tool')}.")
    return EXIT_SUCCESS


class ReturnPort:
    """Waits for the browser's redirect with the result of the sign-in."""

    def __init__(self) -> None:
        self._query: asyncio.Future[dict[str, list[str]]] = asyncio.get_running_loop().create_future()
        self._state = ""

    def expect(self, address: str) -> None:
        """Wait for the redirect from this page. Only that knows the state, which the address contains."""
        self._state = parse_qs(urlsplit(address).query).get("state", [""])[0]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request. Only one for `/callback` with the state counts: any web page can send others."""
        try:
            line = (await reader.readuntil(b"\n"))[:MAX_REQUEST_BYTES].decode("ascii", "replace")
            target = urlsplit(line.split(" ")[1] if line.count(" ") > 1 else "")
            query = parse_qs(target.query)
            is_expected = target.path == "/callback" and self._is_from_page(query) and not self._query.done()
            if is_expected:
                self._query.set_result(query)
            writer.write(PAGE % (b"Done. You can close this page." if is_expected else b"Nothing is expected here."))
            await writer.drain()
        except (OSError, ValueError, asyncio.LimitOverrunError, asyncio.IncompleteReadError):
            return  # not the redirect we wait for
        finally:
            writer.close()

    def _is_from_page(self, query: dict[str, list[str]]) -> bool:
        given = query.get("state", [])
        return bool(self._state) and len(given) == 1 and compare_digest(given[0].encode(), self._state.encode())

    async def answer(self) -> "AuthorizationCodeResult":
        """The authorization code; `ConfigError` with the server's message if it refused."""
        from mcp.shared.auth import AuthorizationCodeResult

        query = {name: values[0] for name, values in (await self._query).items()}
        if "code" not in query:
            raise ConfigError(f"the server said {single_line(query.get('error', 'nothing'))}")
        return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return single_line(str(error) or type(error).__name__, MAX_ADDRESS_LENGTH)

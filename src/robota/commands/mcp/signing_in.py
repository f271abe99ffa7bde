"""Signs in to an MCP server with a browser, which is redirected to a local port."""

import asyncio
import sys
from hmac import compare_digest
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from robota.commands.families.mcp import OneServer, SignInToServer
from robota.commands.verb import Answer, VerbFailed, told
from robota.commands.verb_host import VerbHost
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

LIMIT_S: Final = 600
MAX_REQUEST_BYTES: Final = 16 * 1024
MAX_ADDRESS_LENGTH: Final = 8000
DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY")
PAGE: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n%s\n"


async def sign_in_to(host: VerbHost, args: SignInToServer) -> Answer:
    """Sign in to a server in the browser."""
    from robota.extensions.mcp.sdk import sign_in
    from robota.extensions.mcp.sign_in import Browser

    server, store, waiting = _server(host, args.server), SignInStore(host.env), ReturnPort()
    has_display = sys.platform == "darwin" or any(map(host.env.get, DISPLAYS))

    async def go_to(address: str) -> None:
        waiting.expect(address)
        host.say(f"Sign in at this URL:\n{single_line(address, MAX_ADDRESS_LENGTH)}")
        if has_display and not args.no_browser:
            await asyncio.to_thread(open_page, address, host.env, host.root)

    async with await asyncio.start_server(waiting.serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        browser = Browser(redirect_to=f"http://127.0.0.1:{port}/callback", go_to=go_to, come_back=waiting.answer)
        try:
            async with asyncio.timeout(LIMIT_S):
                tools = await sign_in(server, store, browser)
        except Exception as error:
            store.forget(server.url)
            raise VerbFailed(f"You are not signed in to {server.name}: {_innermost(error)}") from error
    needed = store.load(server.url) is not None
    state = f"You are signed in to {server.name}." if needed else f"{server.name} works without signing in."
    return told(f"{state} It has {counted(tools, 'tool')}.", {"name": server.name, "signedIn": needed, "tools": tools})


def sign_out_of(host: VerbHost, args: OneServer) -> Answer:
    """Forget the sign-in of a server."""
    server = _server(host, args.server)
    was_signed_in = SignInStore(host.env).forget(server.url)
    outcome = "You are signed out of" if was_signed_in else "You were not signed in to"
    return told(f"{outcome} {server.name}.", {"name": server.name, "wasSignedIn": was_signed_in})


def _server(host: VerbHost, name: str) -> HttpServer:
    servers = load_servers(load_settings(host.root, host.env), host.env).servers
    server = next((each for each in servers if each.name == name), None)
    if server is None:
        names = ", ".join(each.name for each in servers) or "none"
        raise ConfigError(f"There is no MCP server {single_line(name)!r} here. Available: {names}.")
    if not isinstance(server, HttpServer):
        raise ConfigError(f"{name} is a local program; there is nothing to sign in to.")
    return server


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

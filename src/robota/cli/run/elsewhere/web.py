"""`robota web`: the page of all sessions, in a browser on this machine or elsewhere."""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from robota.cli.run.elsewhere.managing import manage_with
from robota.clients.terminal.signals import signals_to
from robota.commands.verb import Answer, Family, ShellVerb, VerbFailed, WrongArguments, ended
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option
from robota.config.launch_options import LaunchOptions
from robota.config.paths import user_directory
from robota.serving.session_host import SessionHost
from robota.serving.standard_streams import standard_input
from robota.text.visible import single_line
from robota.workspace.agent_mark import mark_this_process

MAX_PORT: Final = 65_535
CLIENT: Final = "robota web"
LOOPBACK: Final = "127.0.0.1"
DIRECTORY: Final = "web"
# How long a browser may take to read the file with the link.
LINK_FILE_S: Final = 60.0


class ServedPage(msgspec.Struct, frozen=True, kw_only=True):
    """Where the page is, and who may see it."""

    open: Annotated[bool, Option("do not open the browser", name="--no-open")] = False
    port: Annotated[int, Option("port (default: any free one; browsers are remembered only with a port)", "PORT")] = 0
    view: Annotated[bool, Option("the page only shows sessions: nothing can be answered or changed")] = False
    listen: Annotated[str, Option("for other devices, at this address of this machine; needs --cert", "ADDRESS")] = ""
    name: Annotated[tuple[str, ...], Option("host name under which other devices reach this one", "NAME")] = ()
    cert: Annotated[Path | None, Option("certificate for TLS, with its key unless --key names it", "FILE")] = None
    key: Annotated[Path | None, Option("key of the certificate", "FILE")] = None
    unencrypted: Annotated[
        bool, Option("--listen without TLS: everybody on the way can read everything, and answer for you")
    ] = False


def web(host: VerbHost, args: ServedPage) -> Answer:
    """Serve the page until Ctrl+C."""
    if not 0 <= args.port <= MAX_PORT:
        raise WrongArguments(f"A port is a number from 1 to {MAX_PORT}.")
    if args.listen and args.cert is None and not args.unencrypted:
        raise WrongArguments(
            "--listen lets other devices in, so it needs --cert FILE, or --unencrypted if the network is your own."
        )
    try:
        asyncio.run(_serve(host, args))
    except OSError as error:
        where = f"{args.listen or LOOPBACK}:{args.port}"
        why = error.strerror or str(error)
        raise VerbFailed(f"The page cannot be served at {where}: {why}. Nothing was started.") from error
    return ended(0)


async def _serve(host: VerbHost, args: ServedPage) -> None:
    from robota.serving.web.devices import Access, Devices
    from robota.serving.web.guard import Address
    from robota.serving.web.pages_host import PagesHost
    from robota.serving.web.server import listening, serving_pages, tls_from

    try:
        tls = None if args.cert is None else tls_from(args.cert, args.key)
    except OSError as error:
        raise VerbFailed(f"The certificate {args.cert} cannot be used: {error}. Nothing was started.") from error
    sock = listening(args.listen or LOOPBACK, args.port)
    port = sock.getsockname()[1]
    scheme = "http" if tls is None else "https"
    address = Address(scheme=scheme, port=port, is_loopback=not args.listen, names=frozenset(map(str.lower, args.name)))
    most = Access.VIEW if args.view else Access.FULL
    kept = user_directory(host.env) / DIRECTORY / f"browsers-{port}.json" if args.port else None
    devices = Devices(kept, most)
    shown = args.name[0] if args.name else args.listen or LOOPBACK

    def link() -> str:
        return f"{scheme}://{_bracketed(shown)}:{port}/#{devices.link_secret(most)}"

    print(link(), flush=True)
    _say_how(args)
    link_file = None if args.open else _open_browser(link, host)
    # From now on this process speaks for the user, so nothing that it starts may.
    mark_this_process()
    sessions = SessionHost(os.environ, _tell, LaunchOptions(cwd=host.cwd), CLIENT)
    about: dict[str, Any] = {"cwd": str(host.root), "isLoopback": address.is_loopback}
    pages = PagesHost(sessions, manage_with(host), about)
    try:
        async with serving_pages(sock, address, pages, devices, tell=_tell, tls=tls):
            await _until_stopped(link, link_file)
    finally:
        await sessions.close_all()
        _remove(link_file)


async def _until_stopped(link: Callable[[], str], link_file: Path | None) -> None:
    """Return at a signal. Each Enter in a terminal shows another link."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().call_later(LINK_FILE_S, _remove, link_file)
    with signals_to(lambda signal_: stopped.set()):
        asking = asyncio.create_task(_show_links(link)) if sys.stdin.isatty() else None
        await stopped.wait()
        if asking is not None:
            asking.cancel()


async def _show_links(link: Callable[[], str]) -> None:
    lines = await standard_input()
    while await lines.readline():
        print(link(), flush=True)


def _open_browser(link: Callable[[], str], host: VerbHost) -> Path | None:
    """Open the browser with a private file that leads to a link: a link in its arguments could be read by others."""
    from robota.config.transaction import transaction
    from robota.workspace.user_programs.browser import start_browser

    if sys.platform != "darwin" and not any(host.env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        return None
    directory, name = user_directory(host.env) / DIRECTORY, f"open-{os.getpid()}.html"
    content = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={link()}">\n'
    try:
        with transaction(directory) as files:
            files.write(name, content.encode())
    except OSError as error:
        _tell(f"The browser was not opened: {error}.")
        return None
    start_browser((directory / name).as_uri(), host.env, host.root)
    return directory / name


def _remove(link_file: Path | None) -> None:
    if link_file is not None:
        with suppress(OSError):
            link_file.unlink(missing_ok=True)


def _say_how(args: ServedPage) -> None:
    if sys.stdout.isatty():
        print("The link works once. Enter shows another one, for another browser; Ctrl+C ends the page.")
        print("Sessions that were started in the page end with it, and can be resumed.")
    if args.listen and args.cert is None:
        print("This page is not encrypted: everybody on the network can read it.", file=sys.stderr)


def _tell(notice: str) -> None:
    print(f"robota: {single_line(notice, 1000)}", file=sys.stderr, flush=True)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


FAMILY: Final = Family(
    name="web",
    about="Show the sessions of this user in a browser.",
    main=ShellVerb("web", "", ServedPage, web, reason="it is another window on all sessions"),
)

"""Open a port for the proxy inside the sandbox, then execute the command. Run with `python -I -S`.

    python -I -S /proc/self/fd/SCRIPT SCRIPT SOCKET NO_PROXY PORTS COMMAND...

SCRIPT is a descriptor of this file, because its path may not be visible inside; SOCKET is one end of a socket pair;
Robota has the other. It opens a loopback port in the sandbox's own network, which has no route to the outside, and
passes the listening socket to Robota: Robota accepts the connections, and no part of the proxy runs in here. PORTS,
separated by commas, are opened and passed on as well: behind them are servers of the session.

It imports little (`_socket` instead of `socket`), because it starts once per command. On failure it exits with code 126
before the command has run.
"""

import _socket
import os
import sys

ENVIRON = "/proc/self/environ"
PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
NO_PROXY_NAMES = ("NO_PROXY", "no_proxy")
BACKLOG = 128


def main(arguments: "list[str]") -> None:
    """Open the port, then execute the command."""
    script, exit_socket, no_proxy, ports, *command = arguments
    try:
        os.close(int(script))
        port = hand_out_listeners(int(exit_socket), [int(number) for number in ports.split(",") if number])
        restore_signals_and_environment()
    except OSError as error:
        give_up(f"the way to the allowed hosts could not be opened ({error.strerror})", 126)
    name_proxy(port, no_proxy)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        give_up(f"{command[0]} could not be started ({error.strerror})", 127)


def hand_out_listeners(exit_socket: int, ports: "list[int]") -> int:
    """Open the ports, pass the sockets to Robota, the proxy's first, and close them here; the port of the proxy.

    The command must not keep them: it could impersonate the proxy.
    """
    servers = [each for each in map(server_listener, ports) if each is not None]
    proxy = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    proxy.bind(("127.0.0.1", 0))
    proxy.listen(BACKLOG)
    port: int = proxy.getsockname()[1]
    outside = _socket.socket(fileno=exit_socket)
    descriptors = b"".join(each.fileno().to_bytes(4, sys.byteorder) for each in (proxy, *servers))
    outside.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
    for each in (outside, proxy, *servers):
        each.close()
    return port


def server_listener(port: int) -> "_socket.socket | None":
    """Listen on a port for both versions of IP, because programs try `localhost` as either; None if impossible."""
    for family, address in ((_socket.AF_INET6, "::"), (_socket.AF_INET, "127.0.0.1")):
        try:
            listener = _socket.socket(family, _socket.SOCK_STREAM)
            if family == _socket.AF_INET6:
                listener.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 0)
            listener.bind((address, port))
            listener.listen(BACKLOG)
        except OSError:
            continue  # no IPv6 here, or a port that is reserved for root
        return listener
    return None


def restore_signals_and_environment() -> None:
    """Restore the signals and the environment for the command."""
    signals = __import__("_signal")  # importing `signal` takes as long as all the rest
    for number in (signals.SIGPIPE, signals.SIGXFSZ):
        signals.signal(number, signals.SIG_DFL)
    os.environ.pop("LC_CTYPE", None)
    with open(ENVIRON, "rb") as stream:  # noqa: PTH123 - see above
        for variable in stream.read().split(b"\0"):
            if variable.startswith(b"LC_CTYPE="):
                os.environb[b"LC_CTYPE"] = variable[9:]


def name_proxy(port: int, no_proxy: str) -> None:
    """Set the usual proxy variables."""
    for name in PROXY_NAMES:
        os.environ[name] = f"http://127.0.0.1:{port}"
    for name in NO_PROXY_NAMES:
        os.environ[name] = no_proxy
    os.environ["NODE_USE_ENV_PROXY"] = "1"


def give_up(problem: str, code: int) -> None:
    """Print why the command was not run, and exit."""
    sys.stderr.write(f"robota: {problem}; the command was not run.\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])

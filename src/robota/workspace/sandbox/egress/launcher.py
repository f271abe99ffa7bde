"""Open a port for the proxy inside the sandbox, then execute the command. Run with `python -I -S`.

    python -I -S /proc/self/fd/SCRIPT SCRIPT SOCKET NO_PROXY COMMAND...

SCRIPT is a descriptor of this file, because its path may not be visible inside; SOCKET is one end of a socket pair, of
which Robota has the other. It opens a loopback port in the sandbox's own network, which has no route to the outside,
and passes the listening socket to Robota: Robota accepts the connections, and no part of the proxy runs in here. It
imports little (`_socket` instead of `socket`), because it starts once per command. On failure it exits with code 126
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
    script, exit_socket, no_proxy, *command = arguments
    try:
        os.close(int(script))
        port = hand_out_listener(int(exit_socket))
        restore_signals_and_environment()
    except OSError as error:
        give_up(f"the way to the allowed hosts could not be opened ({error.strerror})", 126)
    name_proxy(port, no_proxy)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        give_up(f"{command[0]} could not be started ({error.strerror})", 127)


def hand_out_listener(exit_socket: int) -> int:
    """Open a port, pass its socket to Robota and close it here, so that the command cannot impersonate the proxy."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(BACKLOG)
    port: int = listener.getsockname()[1]
    outside = _socket.socket(fileno=exit_socket)
    descriptor = listener.fileno().to_bytes(4, sys.byteorder)
    outside.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptor)])
    outside.close()
    listener.close()
    return port


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

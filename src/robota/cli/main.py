"""The entry point: quick answers at once, sub-commands by name, everything else is a prompt."""

import errno
import gc
import os
import sys

from robota.cli.subcommands import SUBCOMMANDS

# What typing.TYPE_CHECKING is, without the time it takes to import typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn, TextIO

HELP = frozenset({"-h", "--help"})
# They run a session, whose clients steer the terminal and look at every text themselves.
RUNNING_SESSIONS = frozenset({"demo", "answer"})


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"], ["version"]):
        from robota.version import VERSION

        print(f"robota {VERSION}")
        return 0
    if arguments and arguments[0] not in SUBCOMMANDS and not HELP.isdisjoint(_options_in(arguments)):
        arguments = ["help"]
    if set(arguments) in ({"--version", "--verbose"}, {"-V", "--verbose"}):
        from robota.cli.help.version_details import version_details

        print(version_details())
        return 0
    if arguments and arguments[0] in SUBCOMMANDS:
        from importlib import import_module

        if arguments[0] not in RUNNING_SESSIONS and (sys.stdout.isatty() or sys.stderr.isatty()):
            from robota.cli.guarded_terminal import guard_terminals

            guard_terminals()
        code: int = import_module(SUBCOMMANDS[arguments[0]][0]).main(arguments[1:])
        return code
    from robota.cli.run.prompt import run

    return run(arguments)


def _options_in(arguments: "list[str]") -> "list[str]":
    """The words before `--`, which ends the options."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def entry() -> None:
    """The `robota` command. A reader that has gone away and Ctrl-C end it quietly."""
    # Imports make many objects and no garbage; whoever runs for longer switches the collector on again.
    gc.disable()
    _open_what_is_closed()
    _speak_utf_8()
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        code = 141
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        code = 1
        sys.stderr.write(f"robota: Cannot write to standard output: {error.strerror}.\n")
    except KeyboardInterrupt:
        code = 130
    except SystemExit as leaving:
        code = 0 if leaving.code is None else leaving.code if isinstance(leaving.code, int) else 1
    _leave(code)


def _speak_utf_8() -> None:
    """Start again in UTF-8 mode where the locale is another one: what models and files say is UTF-8 all the same.

    The words of the command line come through byte by byte, and the environment for commands stays as it is.
    """
    if sys.flags.utf8_mode or sys.getfilesystemencoding() == "utf-8":
        return
    own = "from robota.cli.main import entry; entry()"
    # -P: what lies in the workspace must not be taken for one of our modules.
    os.execv(sys.executable, [sys.executable, "-X", "utf8", "-P", "-c", own, *sys.argv[1:]])


def _open_what_is_closed() -> None:
    """Whoever started us may have closed a stream. The next file, such as the log, must not take its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _leave(code: int) -> "NoReturn":
    """End here and now. Taking every module apart first would cost a fifth of a short run and change nothing."""
    _flush(sys.stdout)
    _flush(sys.stderr)
    os._exit(code)


def _flush(stream: "TextIO") -> None:
    try:
        stream.flush()
    except (OSError, ValueError):
        return  # Nobody reads any more.

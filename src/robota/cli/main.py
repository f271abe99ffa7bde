"""The entry point: `--version` at once, sub-commands by name, everything else is a prompt."""

import errno
import gc
import os
import sys

from robota.cli.subcommands import SUBCOMMANDS, is_subcommand

# Stands for typing.TYPE_CHECKING, because importing typing takes time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn, TextIO

    from robota.config.launch_options import Additions

HELP = frozenset({"-h", "--help"})
# These run a session, whose clients write control sequences and sanitise text themselves.
RUNNING_SESSIONS = frozenset({"demo", "answer", "attach", "serve", "web"})
# These do not get the mark of an agent here: they run no agents, connect to running sessions, which refuse marked
# processes, or mark themselves later.
NOT_MARKED = frozenset({"--version", "-V", "version", "ps", "inbox", "state", "answer", "attach", "stop", "web", "acp"})
STANDARD_STREAMS = (0, 1, 2)
HUNG_UP = 129  # 128 + SIGHUP: the terminal was closed


def main(argv: "Sequence[str] | None" = None, additions: "Additions | None" = None) -> int:
    """Run the command line; returns the exit code. `additions` are those of a program that embeds Robota."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"], ["version"]):
        from robota.version import VERSION

        print(f"robota {VERSION}")
        return 0
    if arguments and not is_subcommand(arguments) and not HELP.isdisjoint(_options_in(arguments)):
        arguments = ["help"]
    if set(arguments) in ({"--version", "--verbose"}, {"-V", "--verbose"}):
        from robota.cli.help.version_details import version_details

        print(version_details())
        return 0
    if is_subcommand(arguments):
        from importlib import import_module

        if arguments[0] not in RUNNING_SESSIONS and (sys.stdout.isatty() or sys.stderr.isatty()):
            from robota.cli.guarded_terminal import guard_terminals

            guard_terminals()
        from robota.cli.verb_command import run_family

        return run_family(import_module(SUBCOMMANDS[arguments[0]][0]).FAMILY, arguments[1:])
    from robota.cli.run.prompt import run

    return run(arguments, additions)


def _options_in(arguments: "list[str]") -> "list[str]":
    """The arguments before `--`, which ends the options."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def entry() -> None:
    """The `robota` command. A closed pipe and Ctrl+C end it quietly."""
    # Imports make many objects and no garbage; sessions switch the collector on again.
    gc.disable()
    _replace_closed_streams()
    _ensure_utf8_mode()
    _mark_as_agent()
    terminals = [stream for stream in STANDARD_STREAMS if os.isatty(stream)]
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        code = 141
    except OSError as error:
        code = 1
        if all(map(os.isatty, terminals)):
            if error.errno != errno.ENOSPC or error.filename is not None:
                raise
            sys.stderr.write(f"robota: Cannot write to standard output: {error.strerror}.\n")
    except KeyboardInterrupt:
        code = 130
    except SystemExit as leaving:
        code = 0 if leaving.code is None else leaving.code if isinstance(leaving.code, int) else 1
    # A window that was closed is seen in many ways: a signal, the end of the input, an error in writing.
    _leave(code if all(map(os.isatty, terminals)) else HUNG_UP)


def _ensure_utf8_mode() -> None:
    """Restart in UTF-8 mode if the locale is not UTF-8, because models and files are.

    Arguments are passed on byte for byte, and the environment of commands stays unchanged.
    """
    if sys.flags.utf8_mode or sys.getfilesystemencoding() == "utf-8":
        return
    own = "from robota.cli.main import entry; entry()"
    # -P: files of the workspace must not be imported as our modules.
    os.execv(sys.executable, [sys.executable, "-X", "utf8", "-P", "-c", own, *sys.argv[1:]])


def _mark_as_agent() -> None:
    """Let nothing that this process starts answer for the user: commands, hooks and servers run in many places."""
    if NOT_MARKED.isdisjoint(sys.argv[1:2]):
        from robota.workspace.agent_mark import mark_this_process

        mark_this_process()


def _replace_closed_streams() -> None:
    """Open /dev/null for closed standard streams, so that no other file, such as the log, gets their descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _leave(code: int) -> "NoReturn":
    """Exit without the interpreter's clean-up, which would take a fifth of a short run."""
    _flush(sys.stdout)
    _flush(sys.stderr)
    os._exit(code)


def _flush(stream: "TextIO") -> None:
    try:
        stream.flush()
    except (OSError, ValueError):
        return  # Nobody reads any more.

"""The entry point: quick answers at once, sub-commands by name, everything else is a prompt."""

import sys
from collections.abc import Sequence

from robota.cli.subcommands import SUBCOMMANDS


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        from robota.version import VERSION

        print(f"robota {VERSION}")
        return 0
    if arguments and arguments[0] in SUBCOMMANDS:
        from importlib import import_module

        code: int = import_module(SUBCOMMANDS[arguments[0]][0]).main(arguments[1:])
        return code
    from robota.cli.prompt import run

    return run(arguments)


def entry() -> None:
    """The `robota` command. A reader that has gone away and Ctrl-C end it quietly."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        _send_output_nowhere()
        code = 141
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _send_output_nowhere() -> None:
    """Nobody reads any more; Python would complain when it closes stdout at exit."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)

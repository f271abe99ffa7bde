"""`robota completion SHELL`: what a shell needs to complete the words of `robota`."""

import sys
from collections.abc import Sequence
from typing import Final

from robota.cli.command_parser import CommandParser
from robota.cli.help.command_shapes import main_shape
from robota.cli.help.shell_completion import SHELLS

HOW_TO_USE: Final = {
    "bash": 'eval "$(robota completion bash)"    # in ~/.bashrc',
    "zsh": 'eval "$(robota completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "robota completion fish > ~/.config/fish/completions/robota.fish",
}


def main(argv: Sequence[str]) -> int:
    """Run `robota completion …`."""
    shell = parser().read(argv).shell
    print(SHELLS[shell](main_shape()), end="")
    if sys.stdout.isatty():
        print(f"robota: to use it: {HOW_TO_USE[shell]}", file=sys.stderr)
    return 0


def parser() -> CommandParser:
    """The argument parser of `robota completion`."""
    about = "Print a completion script for the commands and options of this version."
    ways = "; ".join(HOW_TO_USE.values())
    parser = CommandParser(prog="robota completion", description=about, epilog=f"To enable it: {ways}")
    parser.add_argument("shell", choices=tuple(SHELLS), metavar="SHELL", help="bash, zsh or fish")
    return parser

"""`robota completion SHELL`: what a shell needs to complete the words of `robota`."""

import sys
from typing import Annotated, Final, Literal

import msgspec

from robota.cli.help.command_shapes import main_shape
from robota.cli.help.shell_completion import SHELLS
from robota.commands.verb import Answer, Family, ProgramVerb, raw
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Positional

HOW_TO_USE: Final = {
    "bash": 'eval "$(robota completion bash)"    # in ~/.bashrc',
    "zsh": 'eval "$(robota completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "robota completion fish > ~/.config/fish/completions/robota.fish",
}


class CompletedShell(msgspec.Struct, frozen=True):
    """The shell to complete in."""

    shell: Annotated[Literal["bash", "zsh", "fish"], Positional("SHELL", "bash, zsh or fish")]


def print_script(host: VerbHost, args: CompletedShell) -> Answer:
    """The script; at a terminal, also how to use it."""
    if sys.stdout.isatty():
        host.tell(f"to use it: {HOW_TO_USE[args.shell]}")
    return raw(SHELLS[args.shell](main_shape()).removesuffix("\n"))


FAMILY: Final = Family(
    name="completion",
    about="Print a completion script for the commands and options of this version. "
    f"To enable it: {'; '.join(HOW_TO_USE.values())}",
    main=ProgramVerb("completion", "", CompletedShell, print_script),
)

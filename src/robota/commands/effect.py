"""Classifies slash commands by their effect. A conversation that nobody attends runs only those that read or prompt.

The prompt of an unattended run may come from somebody else, such as the text of an issue.
"""

from collections.abc import Callable

import msgspec


class Reads(msgspec.Struct, frozen=True):
    """It shows something, or names a session to continue in. It starts nothing but what any prompt would start."""


class Prompts(msgspec.Struct, frozen=True):
    """It sends the model a text. The calls of the model go through the policy, as always."""


class MakesChanges(msgspec.Struct, frozen=True):
    """It changes something that outlasts the run, or the further course of the session.

    `instead` is the command for the user.
    """

    instead: str


Effect = Reads | Prompts | MakesChanges
# The effect of a command with these arguments.
EffectOf = Callable[[str], Effect]


def reads(arguments: str) -> Effect:
    """For a command that always reads."""
    return Reads()


def prompts(arguments: str) -> Effect:
    """For a command that always sends a text to the model."""
    return Prompts()


def changes(instead: str) -> EffectOf:
    """For a command that changes something, whatever its arguments are."""
    return lambda arguments: MakesChanges(instead)


def reads_only(*first_words: str, instead: str) -> EffectOf:
    """For a command that reads only if its arguments begin with one of these words; "" means no arguments."""

    def effect(arguments: str) -> Effect:
        first = (arguments.split(maxsplit=1) or ("",))[0]
        return Reads() if first in first_words else MakesChanges(instead)

    return effect

"""Lines that begin with a slash: what they order. Pure."""

from typing import Final

import msgspec

from robota.protocol.commands import CondenseContext, RetryNow, SetPermissionMode, SwitchMode
from robota.protocol.permission_mode import PermissionMode

HELP: Final = """/mode MODE          code, architect, ask, debug, orchestrator or one of your own
/permission MODE    plan, default, acceptEdits or bypassPermissions
/compact [WORDS]    shorten the conversation now; words say what matters most
/context [all]      what fills the context window of the model
/retry              try again now instead of waiting
/quit               leave (also Ctrl-D)
Ctrl-C stops what runs. Lines typed meanwhile wait their turn. Alt-Enter begins a new line."""


class Quit(msgspec.Struct, frozen=True):
    """Leave the conversation."""


class ShowContext(msgspec.Struct, frozen=True):
    """Show what fills the context window: the largest things in it, or each."""

    whole: bool = False


class Tell(msgspec.Struct, frozen=True):
    """Only words for the person: help, or what was wrong with the line."""

    words: str


SlashCommand = SwitchMode | SetPermissionMode | CondenseContext | ShowContext | RetryNow | Quit | Tell


WITHOUT_WORDS: Final[dict[str, SlashCommand]] = {
    "/quit": Quit(),
    "/exit": Quit(),
    "/help": Tell(HELP),
    "/?": Tell(HELP),
    "/retry": RetryNow(),
}


def slash_command_in(line: str) -> SlashCommand | None:
    """What a line orders; None if it is no order but words."""
    word, _, rest = line.strip().partition(" ")
    if not word.startswith("/") or "/" in word[1:] or "\n" in line.strip():
        return None
    if word in WITHOUT_WORDS:
        return WITHOUT_WORDS[word]
    match word:
        case "/mode" if rest:
            return SwitchMode(text=rest.strip())
        case "/permission" | "/permissions" if rest:
            return _permission_mode(rest.strip())
        case "/compact":
            return CondenseContext(text=rest.strip() or None)
        case "/context" if rest.strip() in ("", "all"):
            return ShowContext(whole=bool(rest.strip()))
        case _:
            return Tell(f"There is no order {word}, or it needs a word more.\n{HELP}")


def _permission_mode(name: str) -> SetPermissionMode | Tell:
    try:
        return SetPermissionMode(permission_mode=PermissionMode(name))
    except ValueError:
        return Tell(f"There is no permission mode {name}. Permission modes: {', '.join(PermissionMode)}.")

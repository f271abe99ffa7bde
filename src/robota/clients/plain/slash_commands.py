"""Lines that begin with a slash: what they order. Pure."""

from typing import Final

from robota.protocol.commands import Command, CondenseContext, RetryNow, SetPermissionMode, SwitchMode
from robota.protocol.permission_mode import PermissionMode

HELP: Final = """/mode MODE          code, architect, ask, debug, orchestrator or one of your own
/permission MODE    plan, default, acceptEdits or bypassPermissions
/compact [WORDS]    shorten the conversation now; words say what matters most
/retry              try again now instead of waiting
/quit               leave (also Ctrl-D)
Ctrl-C stops what runs. Lines typed meanwhile wait their turn."""


def order_in(line: str) -> Command | str | None:
    """A command for the session, `help`, `quit`, words about a mistake, or None if the line is no order."""
    word, _, rest = line.strip().partition(" ")
    if not word.startswith("/") or "/" in word[1:] or "\n" in line.strip():
        return None
    match word:
        case "/quit" | "/exit":
            return "quit"
        case "/help" | "/?":
            return "help"
        case "/mode" if rest:
            return SwitchMode(text=rest.strip())
        case "/permission" | "/permissions" if rest:
            return _permission_mode(rest.strip())
        case "/compact":
            return CondenseContext(text=rest.strip() or None)
        case "/retry":
            return RetryNow()
        case _:
            return f"There is no order {word}, or it needs a word more.\n{HELP}"


def _permission_mode(name: str) -> SetPermissionMode | str:
    try:
        return SetPermissionMode(permission_mode=PermissionMode(name))
    except ValueError:
        return f"There is no permission mode {name}. Permission modes: {', '.join(PermissionMode)}."

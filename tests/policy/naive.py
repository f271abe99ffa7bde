"""How permission was first done in this field: by the first word, by the beginning of a path, by parts of a name.

A small port of what the research found in shipped products: safe beginnings are tried before destructive words, only
`<` and `>` are refused, rules are beginnings of the text. It shows that the tests of ours can fail.
"""

import re
from collections.abc import Sequence
from typing import Final

from robota.contracts.tool import Effect
from robota.contracts.verdict import Subject

ROOT: Final = "/ws"
SAFE: Final = re.compile(
    r"\s*(?:ls|cat|head|tail|grep|rg|find|sed|sort|echo|pwd|cd|env|timeout|nohup|nice|true|date|which"
    r"|git\s+(?:log|status|diff|show|branch|blame|grep))\b"
)
DESTRUCTIVE: Final = re.compile(r"\brm\s+-rf?\b|\bmkfs\b|\bdd\s+if=|\bgit\s+push\s+--force\b|\bcurl\b.*\|\s*sh\b")
PROTECTED: Final = (".git/", ".env", "node_modules/")
PRIVATE: Final = ("localhost", "127.", "10.", "192.168.", "169.254.")


def naive_verdict(call: Subject, allow: Sequence[str] = (), deny: Sequence[str] = ()) -> str:
    """What such a product said: `allow`, `ask` or `deny`."""
    if call.touches.command is not None:
        return _of_command(call.touches.command, allow, deny)
    if call.touches.host is not None:
        return _of_host(call.touches.host, allow)
    return _of_path(call.touches.paths[0]) if Effect.WRITE in call.effects else "allow"


def _of_command(command: str, allow: Sequence[str], deny: Sequence[str]) -> str:
    if command.startswith(tuple(deny)):
        return "deny"
    if command.startswith(tuple(allow)):
        return "allow"
    if "<" in command or ">" in command:
        return "ask"
    if SAFE.match(command):
        return "allow"
    return "deny" if DESTRUCTIVE.search(command) else "ask"


def _of_path(path: str) -> str:
    whole = path if path.startswith("/") else f"{ROOT}/{path}"
    if not whole.startswith(ROOT):
        return "deny"
    return "ask" if path.startswith(PROTECTED) else "allow"


def _of_host(host: str, allow: Sequence[str]) -> str:
    if host.startswith(PRIVATE):
        return "deny"
    return "allow" if host.startswith(tuple(allow)) or host.endswith(tuple(allow)) else "ask"

"""The name under which a model calls a tool of a server, and a rule speaks of it: `mcp__server__tool`."""

import hashlib
import re
from typing import Final

LONGEST: Final = 64
FORBIDDEN: Final = re.compile(r"[^A-Za-z0-9_-]")


def tool_name(server: str, tool: str) -> str:
    """A name that every model server takes. A long one is cut and ends with a hash of the whole."""
    name = f"mcp__{server}__{FORBIDDEN.sub('_', tool)}"
    if len(name) <= LONGEST:
        return name
    end = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - 9]}_{end}"

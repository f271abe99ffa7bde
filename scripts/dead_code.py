"""List functions, classes and methods of the program that nothing uses, tests and scripts included: `make dead-code`.

Attributes and variables are not listed, because most of them are fields of messages, records and settings.
"""

import re
import sys
from pathlib import Path
from typing import Final

from vulture import Vulture

ROOT: Final = Path(__file__).parents[1]
SEARCHED: Final = ("src", "tests", "scripts", "benchmarks", "evals")
KINDS: Final = frozenset({"function", "class", "method", "import", "unreachable_code"})
# Called by Python and libraries: attributes of modules, key bindings, the HTTP transport, prompt_toolkit's output,
# Markdown elements, the MCP SDK.
CALLED_BY_LIBRARIES: Final = [
    "_",
    "__getattr__",
    "visit_*",
    "render_bullet",
    "render_number",
    "get_style_for_token",
    "get_background_style",
    "erase_down",
    "handle_async_request",
    "connection_made",
    "data_received",
    "eof_received",
    "connection_lost",
    "pause_writing",
    "resume_writing",
    "get_tokens",
    "set_tokens",
    "get_client_info",
    "set_client_info",
]
# Used only in annotations that are strings, which vulture does not read.
ONLY_IN_ANNOTATIONS: Final = ["ExpandMentions", "PromptService", "InstructionService", "MemoryService", "TaskMaker"]


def main() -> int:
    """Print what is unused; 1 if there is something."""
    search = Vulture(ignore_names=[*CALLED_BY_LIBRARIES, *ONLY_IN_ANNOTATIONS, *_run_by_verbs()])
    search.scavenge([str(ROOT / name) for name in SEARCHED])
    unused = [
        f"{Path(item.filename).relative_to(ROOT)}:{item.first_lineno}: {item.message}"
        for item in search.get_unused_code(min_confidence=60)
        if item.typ in KINDS and Path(item.filename).is_relative_to(ROOT / "src")
    ]
    sys.stdout.writelines(f"{line}\n" for line in unused)
    return 1 if unused else 0


def _run_by_verbs() -> list[str]:
    """The functions of verbs that are named as `module:function`, and imported when the verb runs."""
    families = (ROOT / "src/robota/commands/families").rglob("*.py")
    return [name for path in families for name in re.findall(r'"[\w.]+:(\w+)"', path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    sys.exit(main())

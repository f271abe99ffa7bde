"""Load prompt_toolkit without its shortcuts: ready-made prompts, dialogs and progress bars, which we do not use.

The package always imports them, and they are a fifth of what it loads before the first screen.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Final

PACKAGE: Final = "prompt_toolkit"


def load_without_shortcuts() -> None:
    """Register the package without the imports of its own file; its modules are loaded as usual."""
    spec = find_spec(PACKAGE)
    if spec is not None and PACKAGE not in sys.modules:
        sys.modules[PACKAGE] = module_from_spec(spec)
        import_module(f"{PACKAGE}.application")  # first, as the package itself does: its modules import one another

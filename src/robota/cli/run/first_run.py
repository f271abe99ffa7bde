"""The first start, when nothing is configured yet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.config.errors import ConfigError, NoProviderError
from robota.config.profiles.choice import select_profile
from robota.config.settings.load import Settings

SET_UP: Final = "Set up a model (takes a minute)"
SEE_DEMO: Final = "Run the demo: a real task on a scripted model; no key, no network"
OFFERS: Final = (SET_UP, SEE_DEMO)
CANCELLED: Final = 130
PATH_SHOWN: Final = 60


def lacks_provider(settings: Settings) -> bool:
    """Whether no provider was ever configured; invalid settings are not a first start."""
    try:
        select_profile(settings)
    except NoProviderError:
        return True
    except ConfigError:
        return False
    return False


def set_up_now(env: Mapping[str, str], root: Path) -> int | None:
    """Greet the user and offer set-up and the demo. Returns the exit code, or None if there is a provider now."""
    from robota.cli.configure.wizard import configure
    from robota.cli.questions import Cancelled, choose

    print("Welcome to Robota, a coding agent: describe a task, and it works on it.")
    print(f"Workspace: {_short(root)}")
    print("It reads files freely, and asks before it changes one or runs a command.")
    print("First it needs a model. Press Ctrl+C to quit at any time.\n")
    try:
        wish = choose("What do you want to do?", OFFERS)
    except Cancelled:
        return CANCELLED
    if wish == OFFERS.index(SEE_DEMO):
        from robota.cli.run.demo import run_without_a_trace

        return run_without_a_trace()
    return configure(env) or None


def _short(root: Path) -> str:
    """The directory, shortened at its beginning if it is too long for a line."""
    path = str(root.resolve())
    return path if len(path) <= PATH_SHOWN else f"…{path[-PATH_SHOWN:]}"

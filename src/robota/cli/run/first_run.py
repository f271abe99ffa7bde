"""The first start: nothing is configured yet."""

from collections.abc import Mapping
from pathlib import Path

from robota.config.errors import ConfigError, NoProviderError
from robota.config.profiles.choice import select_profile
from robota.config.settings.load import load_settings


def is_first_run(env: Mapping[str, str], root: Path | None = None) -> bool:
    """Whether no provider was ever set up; settings that are merely wrong are no first run."""
    try:
        select_profile(load_settings(root, env))
    except NoProviderError:
        return True
    except ConfigError:
        return False
    return False


def set_up_now(env: Mapping[str, str]) -> int:
    """Greet the person and ask; returns the exit code of the set-up."""
    from robota.cli.configure.wizard import configure

    print("Welcome to Robota. It needs a model to work with; that takes a minute.")
    print("Ctrl-C leaves at any time. Without a model: robota demo\n")
    return configure(env)

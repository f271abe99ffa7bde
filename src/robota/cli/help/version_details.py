"""`robota --version --verbose`: the facts that belong in a bug report."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import robota
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.version import VERSION

PACKAGES: Final = ("msgspec", "httpx2", "prompt_toolkit", "rich", "tree-sitter", "mcp", "keyring")


def version_details() -> str:
    """One line per fact, in two columns."""
    rows = [
        ("robota", VERSION),
        ("python", f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})"),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("installed in", str(Path(robota.__path__[0]))),
        ("settings in", _settings_directory()),
        ("terminal", os.environ.get("TERM", "unset")),
        ("locale", os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "unset"),
        *((name, _installed_version(name)) for name in PACKAGES),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def _settings_directory() -> str:
    try:
        return str(user_directory(os.environ))
    except ConfigError as error:
        return str(error)


def _installed_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"

"""Which directories hold installed packages, and which only what tools can compute again."""

from typing import Final

from robota.workspace.files.path_status import Presence, presence_of

# Programs outside run what is in them: editors, hooks and shells that have such an environment active.
OF_PACKAGES: Final = frozenset(
    """
    node_modules .venv venv bower_components jspm_packages site-packages Pods elm-stuff .tox .nox .eggs .terraform
    """.split()
)
VIRTUAL_ENVIRONMENT: Final = "pyvenv.cfg"
CACHES: Final = frozenset(
    """
    __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache .parcel-cache .turbo .next .nuxt .svelte-kit
    .gradle .ipynb_checkpoints .dart_tool .nyc_output .sass-cache htmlcov target
    """.split()
)


def holds_packages(directory: str, name: str) -> bool:
    """Whether the directory at this path, with this name, contains installed packages.

    One that cannot be looked into does not count: callers skip those with packages, but say so where a search fails.
    """
    return name in OF_PACKAGES or presence_of(f"{directory}/{VIRTUAL_ENVIRONMENT}") is Presence.PRESENT

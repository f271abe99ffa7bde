"""The environment a command runs in: the person's own, without what would make it ask, page or behave like us."""

import sys
from collections.abc import Mapping

NON_INTERACTIVE = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}

# The first two would run a file before every command; the rest belong to the Python that runs Robota.
NOT_PASSED_ON = frozenset({"BASH_ENV", "ENV", "PYTHONHOME", "PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__"})


def command_environment(own: Mapping[str, str]) -> dict[str, str]:
    """`own` is the environment Robota itself was started in."""
    passed = {name: value for name, value in own.items() if name not in NOT_PASSED_ON}
    if passed.get("VIRTUAL_ENV") == sys.prefix:
        del passed["VIRTUAL_ENV"]
    return {**passed, **NON_INTERACTIVE}

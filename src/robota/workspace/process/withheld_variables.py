"""Which variables of our environment hold credentials and are not passed on to commands, MCP servers and hooks."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from robota.secrets.key_shapes import SHAPES, SUSPICION
from robota.secrets.named_values import names_secret

# Of clouds, and what leads to agents and displays that obey whoever can reach them.
OPENS_DOORS: Final = r"(?i)aws_.*|azure_.*|ssh_auth_sock|xauthority"
PASSWORD_IN_URL: Final = r"://[^/?#\s:@]*:[^/?#\s@]+@"
PASSWORD_IN_WORDS: Final = r"(?i)(?:^|[;&?\s])(?:account_?key|shared_?access_?key|password|pwd|sig)=[^;&\s]"


class WithheldVariables(msgspec.Struct, frozen=True, kw_only=True):
    """`named` hold keys, because a provider profile says so; `passed` a person lets through all the same."""

    named: frozenset[str] = frozenset()
    passed: frozenset[str] = frozenset()

    def without_secrets(self, environment: Mapping[str, str]) -> dict[str, str]:
        """For a process that has no business with credentials."""
        return {name: value for name, value in environment.items() if not self._is_withheld(name, value)}

    def without_own_keys(self, environment: Mapping[str, str]) -> dict[str, str]:
        """For a command that a person lets run with their rights: only the keys to the models are kept back."""
        return {name: value for name, value in environment.items() if name not in self.named - self.passed}

    def _is_withheld(self, name: str, value: str) -> bool:
        if name in self.passed:
            return False
        is_known = name in self.named or re.fullmatch(OPENS_DOORS, name) is not None
        return is_known or names_secret(name) or holds_secret(value)


NOTHING_NAMED: Final = WithheldVariables()


def holds_secret(value: str) -> bool:
    """Whether a value has a password in it, or looks like a well-known kind of key."""
    if re.search(PASSWORD_IN_URL, value) or re.search(PASSWORD_IN_WORDS, value):
        return True
    data = value.encode("utf-8", "surrogateescape")
    return re.search(SUSPICION, data) is not None and any(shape.whole.search(data) for shape in SHAPES)

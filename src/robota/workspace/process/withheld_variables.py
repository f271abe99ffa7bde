"""Decide which variables of our environment hold credentials and are withheld from commands, MCP servers and hooks."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from robota.secrets.key_shapes import SHAPES, SUSPICION
from robota.secrets.named_values import names_secret

# Credentials of clouds, and access to SSH agents and X displays.
CREDENTIAL_NAMES: Final = r"(?i)aws_.*|azure_.*|ssh_auth_sock|xauthority"
PASSWORD_IN_URL: Final = r"://[^/?#\s:@]*:[^/?#\s@]+@"
PASSWORD_ASSIGNMENT: Final = r"(?i)(?:^|[;&?\s])(?:account_?key|shared_?access_?key|password|pwd|sig)=[^;&\s]"


class WithheldVariables(msgspec.Struct, frozen=True, kw_only=True):
    """`named` hold keys according to provider profiles; `passed` are passed on because the user's settings say so."""

    named: frozenset[str] = frozenset()
    passed: frozenset[str] = frozenset()

    def without_secrets(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Remove everything that looks like a credential, for a process that needs none."""
        return {name: value for name, value in environment.items() if not self._is_withheld(name, value)}

    def without_own_keys(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Remove only the keys of providers, for a command that the user lets run with their own rights."""
        return {name: value for name, value in environment.items() if name not in self.named - self.passed}

    def _is_withheld(self, name: str, value: str) -> bool:
        if name in self.passed:
            return False
        is_known = name in self.named or re.fullmatch(CREDENTIAL_NAMES, name) is not None
        return is_known or names_secret(name) or holds_secret(value)


NOTHING_NAMED: Final = WithheldVariables()


def holds_secret(value: str) -> bool:
    """Whether a value contains a password, or looks like a well-known kind of key."""
    if re.search(PASSWORD_IN_URL, value) or re.search(PASSWORD_ASSIGNMENT, value):
        return True
    data = value.encode("utf-8", "surrogateescape")
    return re.search(SUSPICION, data) is not None and any(shape.certain.search(data) for shape in SHAPES)

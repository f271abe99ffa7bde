"""Copies of configuration files for commands: only if nothing in them looks like a credential."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from robota.secrets.named_values import names_secret
from robota.workspace.process.withheld_variables import holds_secret

SOURCE: Final = "configuration without credentials"
MAX_BYTES: Final = 65_536
ASSIGNMENT: Final = re.compile(r"^\s*(?:export\s+)?[\"']?([\w./:@-]+?)[\"']?\s*[=:]\s*(\S.*)$")
# A name or a token before the host of a URL, and the tokens in channels of conda.
IN_A_URL: Final = re.compile(r"://(?!git@)[^/@\s\"']+@|/t/[\w-]{8,}/")


class FileCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A file that commands see at `path`, with this content. `whole`: the original, if nothing was left out."""

    path: Path
    content: bytes
    whole: Path | None = None
    source: str


def copied_configuration(paths: Iterable[Path]) -> list[FileCopy]:
    """Copies of those files that exist and hold no credentials."""
    copies: list[FileCopy] = []
    for path in paths:
        content = _content(path)
        if content is not None and not holds_credentials(content.decode("utf-8", "replace")):
            copies.append(FileCopy(path=path, content=content, whole=path.resolve(), source=SOURCE))
    return copies


def holds_credentials(text: str) -> bool:
    """Whether a line sets something that is named like a secret, or has a value that looks like one."""
    return any(_is_secret(line) for line in text.splitlines())


def names_user_in_url(text: str) -> bool:
    """Whether there is a URL with a password, a token or a user name other than git."""
    return IN_A_URL.search(text) is not None


def _is_secret(line: str) -> bool:
    match = ASSIGNMENT.match(line)
    is_named = match is not None and not line.lstrip().startswith(("#", ";")) and names_secret(match[1])
    return is_named or names_user_in_url(line) or holds_secret(line)


def _content(path: Path) -> bytes | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None

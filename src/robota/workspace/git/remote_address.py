"""Which addresses and revisions git may be given: nothing that it would read as an option or a second argument."""

import re
from typing import Final

REF: Final = re.compile(r"(?!.*(?:\.\.|//|@\{))[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}")
# Transport helpers (`ext::…`) are left out, too.
ADDRESS: Final = re.compile(
    r"(?:https://|ssh://|file:///)[^\s\x00-\x1f-][^\s\x00-\x1f]*|[\w.-]+@[\w.-]+:[^\s\x00-\x1f:-][^\s\x00-\x1f]*"
)


def is_address(text: str) -> bool:
    """Whether git may fetch from this address: https, ssh, or a repository on this machine."""
    return ADDRESS.fullmatch(text) is not None


def is_revision(text: str) -> bool:
    """Whether the text can be the name of a branch, a tag or a commit."""
    return REF.fullmatch(text) is not None

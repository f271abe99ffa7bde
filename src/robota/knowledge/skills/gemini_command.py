"""Prompt commands in the TOML files of Gemini CLI: `prompt`, `description`, `{{args}}`, `!{command}`."""

import re
import tomllib
from typing import Final

from robota.knowledge.front_matter import FrontMatter

_ARGUMENTS: Final = "{{args}}"
_SHELL: Final = re.compile(r"!\{([^{}`\n]*)\}")


def gemini_front_matter(text: str) -> FrontMatter:
    """What a file says of its command; one that cannot be read has no text and says why."""
    try:
        fields = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return FrontMatter(fields={}, text="", problem=f"it is no TOML: {error}")
    prompt = fields.pop("prompt", None)
    if not isinstance(prompt, str):
        return FrontMatter(fields={}, text="", problem="it has no prompt")
    return FrontMatter(fields=fields, text=prompt)


def gemini_text(text: str) -> str:
    """The prompt of a file in the form of our own templates."""
    return in_our_words(gemini_front_matter(text).text)


def in_our_words(prompt: str) -> str:
    """A prompt with our places and commands instead of theirs."""
    plain = prompt.replace("$", "\\$")
    shells = _SHELL.sub(lambda found: f"!`{found[1].replace(chr(92) + '$', '$')}`", plain)
    return shells.replace(_ARGUMENTS, "$ARGUMENTS")

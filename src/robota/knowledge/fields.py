"""Reads the fields of a front matter by type."""

from typing import Any

from robota.knowledge.front_matter import FALSE_WORDS, TRUE_WORDS


class Fields:
    """Reads the fields of a front matter by type, and collects those that are invalid or unknown."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self.read: set[str] = set()
        self.invalid: list[str] = []

    def text(self, key: str) -> str:
        value = self.take(key)
        if isinstance(value, str):
            return " ".join(value.split())
        if value is None:
            return ""
        if isinstance(value, bool | list | dict):
            self.invalid.append(f"{key} is not text")
            return ""
        return str(value)

    def words(self, key: str) -> tuple[str, ...]:
        """A list, or words separated by spaces or commas; parentheses keep `Bash(git add *)` together."""
        value = self.take(key)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        if isinstance(value, str):
            return _split_words(value)
        if value is not None:
            self.invalid.append(f"{key} is not a list of words")
        return ()

    def flag(self, key: str, default: bool) -> bool:
        value = self.take(key)
        word = str(value).lower()
        if word in TRUE_WORDS | FALSE_WORDS:
            return word in TRUE_WORDS
        if value is not None:
            self.invalid.append(f"{key} is neither yes nor no")
        return default

    def number(self, key: str) -> int | None:
        value = self.take(key)
        if value is None:
            return None
        if str(value).isascii() and str(value).isdecimal() and int(value) > 0:
            return int(value)
        self.invalid.append(f"{key} is not a number")
        return None

    def take(self, key: str) -> Any:
        """The value of a field as it was written."""
        self.read.add(key)
        return self.fields.get(key)


def _split_words(text: str) -> tuple[str, ...]:
    words, word, depth = [], "", 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth <= 0 and (character.isspace() or character == ","):
            words.append(word)
            word = ""
        else:
            word += character
    return tuple(entry for entry in (*words, word) if entry)

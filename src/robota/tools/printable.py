"""File names as text that is safe to show and to send: nothing invisible, nothing that is not Unicode."""


def printable(name: str) -> str:
    """The name, with control characters and undecodable bytes written as escapes."""
    if name.isprintable():
        return name
    return "".join(character if character.isprintable() else _escape(character) for character in name)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")

"""The page on the command line, made of the help texts."""

import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from unittest.mock import patch

from robota.cli.main import main
from robota.cli.subcommands import SUBCOMMANDS

HEAD = """\
# Command line

Generated from the program by `make reference`: the output of `--help`.
"""
ACTION = re.compile(r"^    ([a-z][a-z-]+)(?:  | \(|$)", re.MULTILINE)


def command_line() -> str:
    """The help of `robota` and of every command and action below it."""
    # Python 3.14 colours help texts, and every version breaks them where the terminal ends.
    with patch.dict(os.environ, {"COLUMNS": "80", "NO_COLOR": "1"}):
        return "\n".join((HEAD, *_sections()))


def _sections() -> Iterator[str]:
    yield from _section("robota", help_of())
    yield from _section("robota help options", help_of("help", "options"))
    for name in SUBCOMMANDS:
        text = help_of(name)
        yield from _section(f"robota {name}", text)
        for action in ACTION.findall(text):
            yield from _section(f"robota {name} {action}", help_of(name, action), "###")


def help_of(*words: str) -> str:
    """What `robota WORDS --help` prints."""
    printed = io.BytesIO()
    text = io.TextIOWrapper(printed, encoding="utf-8", write_through=True)
    with redirect_stdout(text):
        try:
            main([*words] if words[:1] == ("help",) and len(words) > 1 else [*words, "--help"])
        except SystemExit as leaving:
            assert not leaving.code, f"robota {' '.join(words)} --help failed"
    return printed.getvalue().decode()


def _section(title: str, text: str, heading: str = "##") -> Iterator[str]:
    yield f"{heading} `{title}`\n"
    yield f"```text\n{text.strip()}\n```\n"

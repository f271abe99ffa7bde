"""Command lines that cannot be understood, explained in plain words with what was probably meant."""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

USAGE: Final = 2
OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
INVALID_CHOICE: Final = re.compile(
    r"argument (?P<name>\S+): invalid choice: '(?P<said>.*)' \(choose from (?P<all>.*)\)"
)
UNRECOGNIZED: Final = re.compile(r"unrecognized arguments: (?P<first>\S+)(?P<rest>.*)")
# Nobody should delete their settings because they mistyped something else.
NEVER_PROPOSED: Final = frozenset({"--reset", "--yes"})
RESUME: Final = " A session is taken up with: robota --continue, or robota --resume SESSION"
BYPASS: Final = " To let everything run without asking: --permission-mode bypassPermissions"
# What other agents call it.
OPTIONS_OF_OTHERS: Final = {
    "-c": RESUME,
    "--continue": RESUME,
    "-r": RESUME,
    "--resume": RESUME,
    "--fork-session": RESUME,
    "--dangerously-skip-permissions": BYPASS,
    "--yolo": BYPASS,
    "--full-auto": BYPASS,
    "--dangerously-bypass-approvals-and-sandbox": BYPASS,
    "--add-dir": " Robota works in one directory and what is below it: --cwd DIR",
    "--mcp-config": " MCP servers stand in .mcp.json or in the settings: robota mcp --help",
    "--settings": " Settings are changed with: robota config set KEY VALUE",
    "--print-logs": " What happens is shown with: --verbose",
    "--debug": " What happens is shown with: --verbose",
}
MISSING: Final = "the following arguments are required: "


class CommandParser(argparse.ArgumentParser):
    """The parser of a sub-command. Its errors are short, and without an action it shows what there is."""

    _is_mixing = False

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse, where nothing at all is a person who wants to know what could stand there."""
        if not argv:
            self.print_help(sys.stderr)
            self.exit(USAGE)
        self._refuse_option_before_action(argv[0])
        return self.parse_args(argv)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Options may stand between the words, also before one that can be left out."""
        found, rest = super().parse_known_args(args, namespace)
        if not rest or self._subparsers is not None or self._is_mixing:
            return found, rest
        self._is_mixing = True  # it calls this method again
        try:
            return self.parse_known_intermixed_args(args)
        finally:
            self._is_mixing = False

    def error(self, message: str) -> NoReturn:
        known = " ".join(_options(self))
        self.exit(USAGE, f"robota: {in_plain_words(message, known)}\nTry: {self.prog} --help\n")

    def _refuse_option_before_action(self, first: str) -> None:
        """argparse would only say that there is no action, whatever else is wrong."""
        option = first.partition("=")[0]
        if not option.startswith("--") or option == "--" or option in self._option_string_actions:
            return
        if option in _options(self):
            self.error(f"{option} must stand after the action")
        self.error(f"unrecognized arguments: {option}")


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """The options of a parser and of its actions."""
    own = list(parser._option_string_actions)
    actions = [choice for action in parser._actions for choice in _parsers_in(action.choices)]
    return own + [option for action in actions for option in _options(action)]


def _parsers_in(choices: object) -> list[argparse.ArgumentParser]:
    if not isinstance(choices, dict):
        return []
    return [choice for choice in choices.values() if isinstance(choice, argparse.ArgumentParser)]


def in_plain_words(message: str, help: str) -> str:
    """What argparse says, for a person; `help` is any text that names the options there are."""
    if message.startswith(MISSING):
        return f"Missing: {message.removeprefix(MISSING)}."
    if choice := INVALID_CHOICE.fullmatch(message):
        known = re.findall(r"[\w-]+", choice["all"])
        name = "" if choice["name"].isupper() else f"{choice['name'].split('/')[-1]}: "
        return f"{name}{choice['said']!r} is none of {', '.join(known)}.{did_you_mean(choice['said'], known)}"
    if unknown := UNRECOGNIZED.fullmatch(message):
        first = unknown["first"]
        if not first.startswith("-"):
            return f"{first + unknown['rest']!r} does not belong here."
        option = first.partition("=")[0]
        known = [name for name in OPTION.findall(help) if name not in NEVER_PROPOSED]
        return f"There is no option {option}.{OPTIONS_OF_OTHERS.get(option) or did_you_mean(option, known)}"
    return message.removeprefix("argument ")


def did_you_mean(said: str, known: Iterable[str]) -> str:
    """A question to add to the message, or nothing."""
    near = nearest(said, known)
    return f" Did you mean {near}?" if near is not None else ""


def nearest(said: str, known: Iterable[str]) -> str | None:
    """The word that was probably meant."""
    # Only for a mistake; it would cost every start some milliseconds.
    from difflib import get_close_matches

    by_lower_case = {word.lower(): word for word in known}
    near = get_close_matches(said.lower(), list(by_lower_case), n=1, cutoff=0.7)
    begun = [word for word in by_lower_case.values() if len(said) > 1 and word.lower().startswith(said.lower())]
    return by_lower_case[near[0]] if near else begun[0] if len(begun) == 1 else None

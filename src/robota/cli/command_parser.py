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
INVALID_VALUE: Final = re.compile(r"argument (?P<name>\S+): invalid (?P<kind>.+) value: (?P<said>.+)")
KINDS: Final = {"int": "whole number", "float": "number"}
UNRECOGNIZED: Final = re.compile(r"unrecognized arguments: (?P<first>\S+)(?P<rest>.*)")
# Nobody should delete their settings because they mistyped something else.
NEVER_PROPOSED: Final = frozenset({"--reset", "--yes"})
BYPASS: Final = " To let everything run without asking: --permission-mode bypassPermissions"
TOOLS: Final = " What may run is said by --allowed-tools and --disallowed-tools: robota help security"
CONFINED: Final = " To write files without asking: --permission-mode acceptEdits; commands run in the sandbox anyhow"
AGENTS: Final = " A kind of work is chosen with --mode SLUG"
FILES_READ: Final = " Which files are read depends on trust (robota trust); --settings adds to them for one run"
# What other agents call it.
KEPT: Final = " Every session is kept, so that it can be undone; remove one: robota sessions delete ID"
OPTIONS_OF_OTHERS: Final = {
    "--full-auto": CONFINED,
    "--auto-edit": CONFINED,
    "--sandbox": " Commands run in a sandbox unless sandbox.enabled is false: robota config set sandbox.enabled true",
    "--dangerously-bypass-approvals-and-sandbox": BYPASS,
    "--ask-for-approval": " What is asked about is said by --permission-mode",
    "--approval-mode": " What is asked about is said by --permission-mode",
    "--add-dir": " Robota works in one directory and what is below it: --cwd DIR",
    "--include-directories": " Robota works in one directory and what is below it: --cwd DIR",
    "--strict-mcp-config": " Servers of a project start only if it is trusted: robota help mcp",
    "--setting-sources": FILES_READ,
    "--bare": FILES_READ,
    "--safe-mode": " Nothing of a workspace takes effect before it is trusted; --permission-mode plan only reads",
    "--tools": TOOLS,
    "--effort": " How much a model thinks is an option of its profile: robota help providers",
    "--thinking": " How much a model thinks is an option of its profile: robota help providers",
    "--reasoning-effort": " How much a model thinks is an option of its profile: robota help providers",
    "--agent": AGENTS,
    "--agents": AGENTS,
    "--permission-prompt-tool": " With -p nobody is asked: what is not allowed is refused, and listed in the result. "
    "A question that is left is answered with: robota answer SESSION",
    "--plugin-dir": " A plugin is installed from its directory with: robota plugin install DIR",
    "--no-session-persistence": KEPT,
    "--ephemeral": KEPT,
    "--bg": " In the background of the shell: robota -p PROMPT & then robota sessions watch",
    "--background": " In the background of the shell: robota -p PROMPT & then robota sessions watch",
    "--image": " Name the file in the prompt: @picture.png",
    "--prompt": " The prompt stands behind the options: robota -p PROMPT",
    "--message": " The prompt stands behind the options: robota -p PROMPT",
    "--print-logs": " What happens is shown with: --verbose",
    "--list-models": " Models are listed with: robota models",
    "--list-sessions": " Sessions are listed with: robota sessions list",
    "--login": " A key is kept with: robota login",
    "--profile": " A provider profile is chosen with: --provider NAME",
    "--config": " A setting for one run: --settings JSON; for good: robota config set KEY VALUE",
    "--cd": " The directory to work in: --cwd DIR",
    "-C": " The directory to work in: --cwd DIR",
    "-m": " The model to use: --model MODEL",
    "-q": " Only the answer, and what went wrong: --quiet",
    "-i": " A prompt begins a conversation: robota PROMPT",
    "--prompt-interactive": " A prompt begins a conversation: robota PROMPT",
    "--output-schema": " The shape of the answer: --json-schema FILE",
    "--no-stream": " The answer comes whole in a pipe; at a terminal: --quiet",
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

    def actions(self) -> "dict[str, argparse.ArgumentParser]":
        """The parsers of its actions by name."""
        found = (action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction))
        return {name: below for choices in found for name, below in choices.items()}

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
        if choice["name"] == "--input-format":
            return "Only --input-format text is there: one prompt a run, the next one with: robota -c -p PROMPT."
        known = re.findall(r"[\w-]+", choice["all"])
        name = "" if choice["name"].isupper() else f"{choice['name'].split('/')[-1]}: "
        return f"{name}{choice['said']!r} is none of {', '.join(known)}.{did_you_mean(choice['said'], known)}"
    if value := INVALID_VALUE.fullmatch(message):
        return f"{value['name'].split('/')[-1]}: {value['said']} is no {KINDS.get(value['kind'], value['kind'])}."
    if unknown := UNRECOGNIZED.fullmatch(message):
        first = unknown["first"]
        if not first.startswith("-"):
            return f"{first + unknown['rest']!r} does not belong here."
        option = first.partition("=")[0]
        found = OPTION.findall(help)
        if option in found:
            return f"{option} does not belong to this action."
        known = [name for name in found if name not in NEVER_PROPOSED]
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

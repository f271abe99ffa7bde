"""Explains invalid command lines in plain words, and suggests what was probably meant."""

import argparse
import re
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NoReturn

from robota.text.did_you_mean import did_you_mean

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
# What other agents call it, and what to use here.
BYPASS: Final = "To run everything without asking, use --permission-mode bypassPermissions"
ACCEPT_EDITS: Final = (
    "To edit files without asking, use --permission-mode acceptEdits; commands run in the sandbox anyway"
)
PERMISSION_MODE: Final = "Use --permission-mode MODE"
FURTHER_DIRECTORY: Final = "Use --add-dir DIR, once for each directory that the agent may read"
DIRECTORY: Final = "Use --cwd DIR"
RULES: Final = "Use --allowed-tools and --disallowed-tools with rules: robota help security"
TASK_MODE: Final = "Use --mode SLUG to choose a task mode"
TRUST: Final = (
    "Project settings are read only if you trust the project (robota trust); --settings adds to them for one run"
)
THINKING: Final = "Reasoning effort is an option of the provider profile: robota help providers"
KEPT: Final = "Every session is kept, so that it can be undone; delete one with: robota sessions delete ID"
BACKGROUND: Final = "Run it in the background of your shell: robota -p PROMPT & then robota sessions watch"
PROMPT: Final = "Put the prompt after the options: robota -p PROMPT"
INTERACTIVE: Final = "To start interactively with a prompt: robota PROMPT"
MENTION: Final = "Mention the file in the prompt: @path"
PRINT: Final = "To run one task and print the answer, use --print (-p)"
PLAIN: Final = "For a conversation without a screen, in lines, use --plain"
MODELS: Final = "To list models: robota models"
OPTIONS_OF_OTHERS: Final = {
    "--full-auto": ACCEPT_EDITS,
    "--auto-edit": ACCEPT_EDITS,
    "--yes-always": BYPASS,
    "--sandbox": "Commands run in a sandbox unless sandbox.enabled is false: robota config set sandbox.enabled true",
    "-s": PERMISSION_MODE,
    "--dangerously-bypass-approvals-and-sandbox": BYPASS,
    "--ask-for-approval": PERMISSION_MODE,
    "-a": PERMISSION_MODE,
    "--approval-mode": PERMISSION_MODE,
    "--include-directories": FURTHER_DIRECTORY,
    "--strict-mcp-config": "The servers of a project start only if you trust it: robota help mcp",
    "--mcp-debug": "To check MCP servers: robota mcp test SERVER",
    "--setting-sources": TRUST,
    "--bare": TRUST,
    "--safe-mode": "Workspace configuration is ignored until trusted; --permission-mode plan is read-only",
    "--tools": RULES,
    "--effort": THINKING,
    "--thinking": THINKING,
    "--reasoning-effort": THINKING,
    "--agent": TASK_MODE,
    "--agents": TASK_MODE,
    "--permission-prompt-tool": "With -p, calls that need approval are denied and listed in the result. "
    "To answer a pending question: robota answer SESSION",
    "--plugin-dir": "To install a plugin from a directory: robota plugin install DIR",
    "--no-session-persistence": KEPT,
    "--no-session": KEPT,
    "--ephemeral": KEPT,
    "--session": "To resume a session, use --resume SESSION",
    "--last": "To continue the latest session, use --continue",
    "--bg": BACKGROUND,
    "--background": BACKGROUND,
    "--image": MENTION,
    "--file": MENTION,
    "--prompt": PROMPT,
    "--message": PROMPT,
    "--print-logs": "Use --verbose",
    "--json": "Use --output-format json, or stream-json for events",
    "--list-models": MODELS,
    "--list-sessions": "To list sessions: robota sessions list",
    "--login": "To store an API key: robota login",
    "--profile": "Use --provider NAME",
    "--oss": "To use a local server, set it up once: robota --configure",
    "--config": "Use --settings JSON for one run, or permanently: robota config set KEY VALUE",
    "--search": "To allow web pages, use --allowed-tools WebFetch",
    "--cd": DIRECTORY,
    "-C": DIRECTORY,
    "-P": PRINT,
    "--headless": PRINT,
    "--non-interactive": PRINT,
    "--no-interactive": PRINT,
    "--exec": PRINT,
    "--no-tui": PLAIN,
    "--no-ui": PLAIN,
    "--no-alt-screen": "The terminal's own scrollback is always used",
    "--screen-reader": PLAIN,
    "-m": "Use --model MODEL",
    "-q": "Use --quiet",
    "-i": INTERACTIVE,
    "--prompt-interactive": INTERACTIVE,
    "--output-schema": "Use --json-schema FILE",
    "--no-stream": "Output to a pipe is not streamed; at a terminal, use --quiet",
}
MISSING: Final = "the following arguments are required: "


class CommandParser(argparse.ArgumentParser):
    """The parser of a sub-command. Its errors are short, and without an action it lists the actions."""

    _is_mixing = False

    def __init__(self, *args: Any, **options: Any) -> None:
        # One is made for every argument that is added; to measure the terminal each time, argparse would load shutil.
        options["formatter_class"] = partial(argparse.HelpFormatter, width=80)
        super().__init__(*args, **options)
        self.named_first: dict[str, CommandParser] = {}  # actions of a command that also does something without one

    def read(self, argv: Sequence[str], *, needs_words: bool = True) -> argparse.Namespace:
        """Parse the arguments. Without any, if it needs some, it shows what they could be."""
        if argv and argv[0] in self.named_first:
            return self.named_first[argv[0]].parse_args(argv[1:])
        if not argv and needs_words:
            self.print_help(sys.stderr)
            self.exit(USAGE)
        if argv and self._subparsers is not None:
            self._refuse_option_before_action(argv[0])
        return self.parse_args(argv)

    def actions(self) -> "dict[str, argparse.ArgumentParser]":
        """The parsers of its actions by name."""
        groups = (action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction))
        return {**self.named_first, **{name: below for choices in groups for name, below in choices.items()}}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Options may come between the words, also before an optional one."""
        parsed, rest = super().parse_known_args(args, namespace)
        if not rest or self._subparsers is not None or self._is_mixing:
            return parsed, rest
        self._is_mixing = True  # it calls this method again
        try:
            return self.parse_known_intermixed_args(args)
        finally:
            self._is_mixing = False

    def format_help(self) -> str:
        """The help, as wide as the terminal."""
        self.formatter_class = argparse.HelpFormatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        options = " ".join(_options(self))
        self.exit(USAGE, f"robota: {in_plain_words(message, options)}\nTry: {self.prog} --help\n")

    def _refuse_option_before_action(self, first: str) -> None:
        """argparse would only say that there is no action, whatever else is wrong."""
        option = first.partition("=")[0]
        if not option.startswith("--") or option == "--" or option in self._option_string_actions:
            return
        if option in _options(self):
            self.error(f"{option} must come after the action")
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
    """What argparse says, for the user; `help` is any text that names the options there are."""
    if message.startswith(MISSING):
        return f"Missing: {message.removeprefix(MISSING)}."
    if choice := INVALID_CHOICE.fullmatch(message):
        if choice["name"] == "--input-format":
            return "Only --input-format text is supported: one prompt per run; to continue: robota -c -p PROMPT."
        choices = re.findall(r"[\w-]+", choice["all"])
        name = "" if choice["name"].isupper() else f"{choice['name'].split('/')[-1]}: "
        return f"{name}{choice['said']!r} is not one of {', '.join(choices)}.{did_you_mean(choice['said'], choices)}"
    if value := INVALID_VALUE.fullmatch(message):
        return f"{value['name'].split('/')[-1]}: {value['said']} is not a {KINDS.get(value['kind'], value['kind'])}."
    if unknown := UNRECOGNIZED.fullmatch(message):
        first = unknown["first"]
        if not first.startswith("-"):
            return f"{first + unknown['rest']!r} does not belong here."
        option = first.partition("=")[0]
        options = OPTION.findall(help)
        if option in options:
            return f"{option} does not belong to this action."
        return f"There is no option {option}.{_instead_of(option, options)}"
    return message.removeprefix("argument ")


def _instead_of(option: str, options: Sequence[str]) -> str:
    """What to use for an option of another agent, if this command has it; else the nearest that there is."""
    hint = OPTIONS_OF_OTHERS.get(option)
    if hint is not None and set(OPTION.findall(hint)) <= {*options, "--configure"}:
        return f" {hint}"
    return did_you_mean(option, [name for name in options if name not in NEVER_PROPOSED])

"""What the command line says: every option, and how it is read."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from robota.cli.command_line import COMPLETIONS, OUTPUT_FORMATS, PERMISSION_MODES, CommandLine, UsageError
from robota.protocol.permission_mode import PermissionMode
from robota.version import VERSION


def parse(argv: Sequence[str]) -> CommandLine:
    """Read the command line, or raise `UsageError`. `--help` and `--version` print and exit."""
    shape = parser()
    found, rest = shape.parse_known_args(argv)
    # Options between the words of a prompt; this takes twice as long, so it is not the first thing to try.
    values: dict[str, Any] = vars(shape.parse_intermixed_args(argv) if rest else found)
    if not values["prompt"] and any(map(str.isspace, values["worktree"] or "")):
        values["prompt"], values["worktree"] = [values["worktree"]], ""  # no name has blanks: -w "fix the test"
    for field in ("prompt", "allowed_tools", "disallowed_tools"):
        values[field] = tuple(values[field])
    if values["permission_mode"] is not None:
        values["permission_mode"] = PermissionMode(values["permission_mode"])
    return CommandLine(**values)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        from robota.cli.command_parser import in_plain_words

        raise UsageError(in_plain_words(message, self.format_help()))


def parser() -> argparse.ArgumentParser:
    """Every option of `robota` without a command."""
    parser = _Parser(
        prog="robota",
        usage="robota [options] [PROMPT] | robota -p [options] PROMPT | robota COMMAND …",
        description="All options. Piped input is put before the prompt.",
        # It is made for every option that is added; to measure the terminal each time, argparse would load shutil.
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=80),
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to do")
    parser.add_argument("-h", "--help", action="help", help="show the help overview")
    parser.add_argument("-V", "--version", action="version", version=f"robota {VERSION}", help="print the version")
    _add_output_options(parser.add_argument_group("output"))
    _add_task_options(parser.add_argument_group("task"))
    _add_conversation_options(parser.add_argument_group("sessions"))
    _add_provider_options(parser.add_argument_group("set up a provider"))
    _add_upkeep_options(parser.add_argument_group("maintenance"))
    _add_foreign_options(parser.add_argument_group("compatibility with other agents"))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser


def _add_output_options(group: Any) -> None:
    group.add_argument("-p", "--print", action="store_true", help="run the prompt, print the answer, exit")
    group.add_argument(
        "--output-format",
        choices=OUTPUT_FORMATS,
        default="text",
        metavar="FORMAT",
        help="text, json (one object), stream-json (one object per line) or messages",
    )
    group.add_argument("--include-partial-messages", action="store_true", help="also stream incomplete messages")
    group.add_argument(
        "--plain", action="store_true", help="plain line-by-line interface, for screen readers and slow connections"
    )
    group.add_argument("--verbose", action="store_true", help="print everything that happens to stderr")
    group.add_argument("-d", "--debug", action="store_true", help="log each event and state to ~/.robota/debug.log")
    group.add_argument("--quiet", action="store_true", help="print only the answer and errors")
    group.add_argument(
        "--json-schema",
        metavar="FILE|JSON",
        help="require an answer that matches this JSON Schema; the model gets one retry",
    )
    group.add_argument("--input-file", metavar="FILE", help="read the prompt, or text to put before it, from a file")


def _add_task_options(group: Any) -> None:
    group.add_argument("--provider", metavar="NAME", help="provider profile to use")
    group.add_argument("--model", metavar="MODEL", help="model to use instead of the profile's")
    group.add_argument("--fallback-model", metavar="A,B", help="models to try when the first one fails")
    group.add_argument(
        "--permission-mode",
        choices=PERMISSION_MODES,
        metavar="MODE",
        help="plan (read-only), default (ask), acceptEdits (edit without asking) or bypassPermissions (never ask)",
    )
    effects = {"allowed": "may run without asking, for example 'Bash(pytest *)'", "disallowed": "never run"}
    for name, effect in effects.items():
        flags = (f"--{name}-tools", f"--{name}Tools")
        group.add_argument(*flags, action="append", default=[], metavar="RULES", help=f"calls that {effect}")
    group.add_argument("--mode", metavar="SLUG", help="start in this mode: code, architect, ask, debug, orchestrator")
    group.add_argument("--max-turns", type=_positive, metavar="N", help="stop after N requests to the model")
    group.add_argument("--max-budget-usd", type=_amount, metavar="USD", help="stop once the task has cost this much")
    group.add_argument(
        "--completion",
        choices=COMPLETIONS,
        metavar="HOW",
        help="implicit (a reply without tool calls is the answer) or explicit (the model must call attempt_completion)",
    )
    group.add_argument("--system-prompt", metavar="TEXT", help="replace the system prompt")
    group.add_argument("--system-prompt-file", metavar="FILE", help="the same, from a file")
    group.add_argument(
        "--append-system-prompt",
        metavar="TEXT",
        help="append to the system prompt; @NAME appends .robota/prompts/NAME.md, @PATH a file",
    )
    group.add_argument("--append-system-prompt-file", metavar="FILE", help="the same, from a file")
    group.add_argument(
        "--settings", metavar="FILE|JSON", help="settings for this run; they override the settings files"
    )
    group.add_argument("--mcp-config", metavar="FILE|JSON", help="MCP servers for this run, as in .mcp.json")
    group.add_argument(
        "--language", metavar="LANGUAGE", help="language of the answers; without a prompt, saved as the default"
    )
    group.add_argument("--require-trust", action="store_true", help="refuse to start in an untrusted workspace")
    group.add_argument("--cwd", metavar="DIR", help="directory to work in")
    group.add_argument(
        "-w",
        "--worktree",
        nargs="?",
        const="",
        metavar="NAME",
        help="work in a new git worktree, kept if it has changes",
    )


def _add_conversation_options(group: Any) -> None:
    group.add_argument(
        "-c",
        "--continue",
        dest="continues",
        action="store_true",
        help="continue the most recent session in this directory",
    )
    group.add_argument(
        "-r",
        "--resume",
        nargs="?",
        const="",
        metavar="SESSION",
        help="resume a session by id, id prefix, name or words from it; without one, choose from a list",
    )
    group.add_argument("--fork-session", action="store_true", help="with -c or -r: continue in a copy of the session")
    group.add_argument("--session-id", metavar="ID", help="id of the new session")
    group.add_argument("-n", "--name", metavar="NAME", help="name of the session")


def _add_provider_options(group: Any) -> None:
    group.add_argument("--configure", action="store_true", help="set up a provider by answering a few questions")
    group.add_argument("--configure-provider", metavar="NAME", help="write a provider profile to the settings")
    group.add_argument("--type", metavar="TYPE", help="provider type; with --configure, set up only this one")
    group.add_argument("--base-url", metavar="URL", help="base URL of the API, up to and including /v1")
    group.add_argument("--api-key", metavar="KEY", help="API key, stored in plain text; prefer --api-key-env")
    group.add_argument("--api-key-env", metavar="VARIABLE", help="environment variable that holds the key")
    group.add_argument("--set-current", action="store_true", help="make the profile (or --provider) the default")


def _add_upkeep_options(group: Any) -> None:
    group.add_argument("--reset", action="store_true", help="remove your settings after asking; a copy is kept")
    group.add_argument(
        "-y",
        "--yes",
        action="store_true",
        help="do not ask for confirmation (with --reset, or -r of an imported session)",
    )
    group.add_argument("--check-update", action="store_true", help="check for a newer version now")
    group.add_argument("--disable-update-check", action="store_true", help="do not check for a newer version this time")


def _add_foreign_options(group: Any) -> None:
    bypass = PermissionMode.BYPASS.value
    group.add_argument(
        "--dangerously-skip-permissions",
        "--yolo",
        dest="permission_mode",
        action="store_const",
        const=bypass,
        help=f"same as --permission-mode {bypass}",
    )
    group.add_argument(
        "--input-format", metavar="FORMAT", default="text", choices=("text",), help="only text is supported"
    )


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of money")
    return amount


def _positive(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return number

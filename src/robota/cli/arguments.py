"""The command line as a frozen record."""

import argparse
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import msgspec

from robota.cli.subcommands import SUBCOMMANDS
from robota.version import VERSION

OUTPUT_FORMATS: Final = ("text", "json", "stream-json", "messages")
PERMISSION_MODES: Final = ("plan", "default", "acceptEdits", "bypassPermissions")
COMPLETIONS: Final = ("implicit", "explicit")


class UsageError(Exception):
    """The command line cannot be understood."""


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    prompt: tuple[str, ...] = ()
    print: bool = False
    output_format: str = "text"
    include_partial_messages: bool = False
    verbose: bool = False
    model: str | None = None
    fallback_model: str | None = None
    provider: str | None = None
    permission_mode: str = "default"
    max_turns: int | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    completion: str | None = None
    cwd: str | None = None
    session_id: str | None = None
    name: str | None = None
    configure_provider: str | None = None
    type: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    api_key_env: str | None = None
    set_current: bool = False


def parse(argv: Sequence[str]) -> Arguments:
    """Read the command line, or raise `UsageError`. `--help` and `--version` print and exit."""
    values: dict[str, Any] = vars(_parser().parse_args(argv))
    for field in ("prompt", "allowed_tools", "disallowed_tools"):
        values[field] = tuple(values[field])
    return Arguments(**values)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parser() -> _Parser:
    parser = _Parser(
        prog="robota",
        usage="robota -p [options] PROMPT   |   robota COMMAND …",
        description="A coding agent for the terminal. Piped input comes before the prompt.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("prompt", nargs="*", help="what to do")
    parser.add_argument("-V", "--version", action="version", version=f"robota {VERSION}")
    _add_output_options(parser.add_argument_group("output"))
    _add_task_options(parser.add_argument_group("task"))
    _add_provider_options(parser.add_argument_group("set up a provider"))
    return parser


def _add_output_options(group: Any) -> None:
    group.add_argument("-p", "--print", action="store_true", help="run the prompt, print the answer, exit")
    group.add_argument("--output-format", choices=OUTPUT_FORMATS, default="text", metavar="|".join(OUTPUT_FORMATS))
    group.add_argument("--include-partial-messages", action="store_true", help="also stream what is not complete yet")
    group.add_argument("--verbose", action="store_true", help="show on stderr what happens")


def _add_task_options(group: Any) -> None:
    group.add_argument("--provider", metavar="NAME", help="provider profile to use")
    group.add_argument("--model", metavar="MODEL", help="model to use instead of the profile's")
    group.add_argument("--fallback-model", metavar="A,B", help="models to go on with when the first does not answer")
    group.add_argument(
        "--permission-mode", choices=PERMISSION_MODES, default="default", metavar="|".join(PERMISSION_MODES)
    )
    group.add_argument("--allowed-tools", "--allowedTools", action="append", default=[], metavar="RULES")
    group.add_argument("--disallowed-tools", "--disallowedTools", action="append", default=[], metavar="RULES")
    group.add_argument("--max-turns", type=_positive, metavar="N", help="stop after N requests to the model")
    group.add_argument("--completion", choices=COMPLETIONS, metavar="|".join(COMPLETIONS))
    group.add_argument("--system-prompt", metavar="TEXT", help="replace the system prompt")
    group.add_argument("--append-system-prompt", metavar="TEXT", help="add to the system prompt")
    group.add_argument("--cwd", metavar="DIR", help="directory to work in")
    group.add_argument("--session-id", metavar="ID", help="id of the new session")
    group.add_argument("-n", "--name", metavar="NAME", help="name of the session")


def _add_provider_options(group: Any) -> None:
    group.add_argument("--configure-provider", metavar="NAME", help="write a provider profile to the settings")
    group.add_argument("--type", metavar="TYPE", help="openai-compatible, scripted")
    group.add_argument("--base-url", metavar="URL")
    group.add_argument("--api-key", metavar="KEY", help="stored as it is; better: --api-key-env")
    group.add_argument("--api-key-env", metavar="VARIABLE", help="environment variable that holds the key")
    group.add_argument("--set-current", action="store_true", help="make the profile the default")


def _epilog() -> str:
    width = max(map(len, SUBCOMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {help}" for name, (_, help) in SUBCOMMANDS.items())
    return f"commands (robota COMMAND --help):\n{commands}"


def _positive(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return number

"""The man page, from the same tables as `--help`."""

from collections.abc import Iterator, Sequence
from typing import Final

from robota.cli.help.command_shapes import OptionShape, main_options
from robota.cli.help.front_page import EXAMPLES
from robota.cli.subcommands import SUBCOMMANDS
from robota.clients.headless import exit_codes
from robota.version import VERSION

EXIT_CODES: Final = (
    (exit_codes.DONE, "Success: a complete answer."),
    (exit_codes.TASK_FAILED, "The task failed, or the session could not be saved."),
    (exit_codes.USAGE, "Usage error."),
    (exit_codes.CONFIGURATION, "Configuration error: wrong settings, or no provider."),
    (exit_codes.PROVIDER_PERMANENT, "Permanent provider error."),
    (exit_codes.NEEDS_HUMAN, "Needs user input: a question is waiting for an answer."),
    (exit_codes.TURN_LIMIT, "Turn limit reached."),
    (exit_codes.BUDGET_LIMIT, "Budget exhausted."),
    (exit_codes.PROVIDER_RETRYABLE, "Temporary provider error; try again later."),
    (exit_codes.SIGINT, "Interrupted with Ctrl+C; other signals: 128 plus their number."),
)
FILES: Final = (
    ("~/.robota/settings.json", "user settings, and API keys where there is no keyring (mode 0600)"),
    (".robota/settings.json", "project settings, in effect once the project is trusted"),
    (".robota/sessions/", "session logs"),
)
VARIABLES: Final = (
    ("ROBOTA_HOME", "directory to use instead of ~/.robota"),
    ("ROBOTA_PAGER, PAGER", "pager for long help pages"),
    ("VISUAL, EDITOR", "editor for prompts and changes"),
    ("NO_COLOR", "disables colours if set"),
)


def man_page() -> str:
    """The page in roff."""
    lines = [
        f'.TH ROBOTA 1 "" "robota {_roff(VERSION)}" "User Commands"',
        ".SH NAME",
        "robota \\- a coding agent for the terminal",
        ".SH SYNOPSIS",
        ".B robota",
        "[\\fIoptions\\fR] [\\fIPROMPT\\fR]",
        ".br",
        ".B robota \\-p",
        "[\\fIoptions\\fR] \\fIPROMPT\\fR",
        ".br",
        ".B robota",
        "\\fICOMMAND\\fR ...",
        ".SH DESCRIPTION",
        "Robota is an interactive coding agent that works on the project in the current directory.",
        "It asks before it does anything consequential. With \\fB\\-p\\fR it runs one task and prints the answer.",
        "Piped input is put before the prompt.",
        ".SH OPTIONS",
        *_options(main_options()),
        ".SH COMMANDS",
        "\\fBrobota\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR prints details.",
        *_terms((name, help) for name, (_, help) in SUBCOMMANDS.items()),
        ".SH EXIT STATUS",
        *_terms((str(code), text) for code, text in EXIT_CODES),
        ".SH ENVIRONMENT",
        *_terms(iter(VARIABLES)),
        ".SH FILES",
        *_terms(iter(FILES)),
        ".SH EXAMPLES",
        ".nf",
        *(_roff(line) for line in EXAMPLES),
        ".fi",
        ".SH SEE ALSO",
        "\\fBrobota help topics\\fR lists the documentation pages; \\fBrobota help\\fR \\fITOPIC\\fR shows one.",
    ]
    return "\n".join(lines) + "\n"


def _options(options: Sequence[OptionShape]) -> Iterator[str]:
    for option in options:
        value = f"[{option.value}]" if option.is_value_optional else option.value
        shown = ", ".join(f"\\fB{_roff(flag)}\\fR" for flag in option.flags)
        yield ".TP"
        yield f"{shown} \\fI{_roff(value)}\\fR" if value else shown
        yield _roff(option.help)


def _terms(rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    for name, text in rows:
        yield from (".TP", f"\\fB{_roff(name)}\\fR", _roff(text))


def _roff(text: str) -> str:
    """Text as roff takes it: dashes that can be copied, and no line that looks like a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped

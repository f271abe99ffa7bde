"""The man page, from the same tables as `--help`."""

from collections.abc import Iterator, Sequence
from typing import Final

from robota.cli.help.command_shapes import OptionShape, main_options
from robota.cli.help.front_page import EXAMPLES
from robota.cli.subcommands import SUBCOMMANDS
from robota.clients.headless import exit_codes
from robota.version import VERSION

EXIT_CODES: Final = (
    (exit_codes.DONE, "The task is done."),
    (exit_codes.TASK_FAILED, "The task failed."),
    (exit_codes.USAGE, "The command line cannot be understood."),
    (exit_codes.CONFIGURATION, "The settings are wrong, or no provider is set up."),
    (exit_codes.PROVIDER_PERMANENT, "The provider refused, and would refuse again."),
    (exit_codes.NEEDS_HUMAN, "A question is left that only a person can answer."),
    (exit_codes.TURN_LIMIT, "The limit of turns was reached."),
    (exit_codes.BUDGET_LIMIT, "The budget was used up."),
    (exit_codes.PROVIDER_RETRYABLE, "The provider failed; the same command may work later."),
    (exit_codes.SIGINT, "Stopped by Ctrl-C; other signals: 128 and their number."),
)
FILES: Final = (
    ("~/.robota/settings.json", "settings of the person, and keys where there is no keyring; only they can read it"),
    (".robota/settings.json", "settings of a project, in effect once it is trusted"),
    (".robota/sessions/", "the logs of sessions"),
)
VARIABLES: Final = (
    ("ROBOTA_HOME", "directory to use instead of ~/.robota"),
    ("ROBOTA_PAGER, PAGER", "program that shows long pages of help"),
    ("VISUAL, EDITOR", "editor for prompts and changes"),
    ("NO_COLOR", "if set, no colours"),
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
        "Robota talks with you in the terminal about the project in the current directory, and works on it.",
        "It asks before it does what matters. With \\fB\\-p\\fR it runs one task and prints the answer.",
        "What is piped in comes before the prompt.",
        ".SH OPTIONS",
        *_options(main_options()),
        ".SH COMMANDS",
        "\\fBrobota\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR says more of each.",
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
        "\\fBrobota help topics\\fR lists the pages of the documentation, \\fBrobota help\\fR \\fITOPIC\\fR shows one.",
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

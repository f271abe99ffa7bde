"""`robota help [TOPIC]`: the first page, a command, or a page of the documentation."""

import os
import re
import sys
from collections.abc import Sequence
from typing import Final

from robota.cli.arguments import parser as main_parser
from robota.cli.command_parser import CommandParser
from robota.cli.help.front_page import all_commands, front_page
from robota.cli.help.topics import LISTS, Topic, help_words, topic_named, topics
from robota.cli.output import in_columns, terminal_width
from robota.cli.subcommands import SUBCOMMANDS
from robota.text.did_you_mean import did_you_mean

DONE: Final = 0
USAGE: Final = 2
GREY: Final = re.compile(r"(?<=[\[;])90(?=[;m])")
MAX_COLUMNS: Final = 100


def main(argv: Sequence[str]) -> int:
    """Run `robota help …`."""
    options = parser().parse_args(argv)
    if options.man:
        from robota.cli.help.man_page import man_page

        print(man_page(), end="")
        return DONE
    if not options.topic:
        print(front_page(tuple(topics())))
        return DONE
    return _show(options.topic[0].lower(), options.topic[1:])


def parser() -> CommandParser:
    """The argument parser of `robota help`."""
    parser = CommandParser(
        prog="robota help", description="Show the help overview, a command, or a documentation page."
    )
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help="a command, a topic, commands, options or topics")
    parser.add_argument("--man", action="store_true", help="print the man page (roff), to be saved as robota.1")
    return parser


def _show(name: str, rest: Sequence[str]) -> int:
    if name in LISTS:
        print({"commands": all_commands, "options": _all_options, "topics": _all_topics}[name]())
        return DONE
    topic = None if rest else topic_named(name)
    if name in SUBCOMMANDS:
        usage = _usage(name, rest)
        if usage is None:
            return USAGE
        return _print_page(topic, usage)
    if topic is None:
        suggestion = did_you_mean(name, help_words())
        print(
            f"robota: There is no command and no topic {name!r}.{suggestion} robota help topics lists them.",
            file=sys.stderr,
        )
        return USAGE
    return _print_page(topic)


def _usage(name: str, rest: Sequence[str]) -> str | None:
    """The help of a command, or of the action of it that is named; None if there is no such action."""
    from robota.cli.verb_parser import subcommand_parser

    parser = subcommand_parser(name)
    actions = parser.actions()
    if not rest:
        return parser.format_help()
    if rest[0] in actions:
        return actions[rest[0]].format_help()
    print(f"robota: {name} has no action {rest[0]!r}.{did_you_mean(rest[0], actions)}", file=sys.stderr)
    return None


def _all_options() -> str:
    return main_parser().format_help().rstrip("\n")


def _all_topics() -> str:
    rows = [(f"  {topic.name}", topic.title()) for topic in topics().values()]
    if not rows:
        return "The documentation pages were not installed with this program."
    return "\n".join(["robota help TOPIC shows one of them.", "", *in_columns(rows, terminal_width())])


def _print_page(topic: Topic | None, usage: str = "") -> int:
    """On a terminal the page is drawn and paged; elsewhere it is the text as it was written."""
    width = terminal_width()
    if topic is None or width is None:
        print("\n".join(part.rstrip("\n") for part in (usage, topic.text() if topic else "") if part))
        return DONE
    from robota.clients.tui.markdown.answer import StreamedAnswer
    from robota.clients.tui.theme import theme_for
    from robota.workspace.process.pager import page_text

    columns = min(width - 1, MAX_COLUMNS)
    drawn = StreamedAnswer(theme_for(os.environ))
    # What is grey on one terminal is the background of another, so it is not let through; dim can be read on both.
    rows = [GREY.sub("2", row) for row in (*drawn.feed(topic.text(), columns), *drawn.finish(columns))]
    page_text("\n".join([*usage.splitlines(), *([""] if usage else []), *rows]) + "\n", os.environ)
    return DONE

"""`robota help [TOPIC]`: the first page, a command, or a page of the documentation."""

import os
import re
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from robota.cli.arguments import parser as main_parser
from robota.cli.help.front_page import all_commands, front_page
from robota.cli.help.topics import LISTS, DocumentationPage, help_words, topic_named, topics
from robota.cli.output import in_columns, terminal_width
from robota.cli.subcommands import SUBCOMMANDS
from robota.commands.verb import DONE, Answer, Family, ProgramVerb, WrongArguments, ended, raw
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.text.did_you_mean import did_you_mean

GREY: Final = re.compile(r"(?<=[\[;])90(?=[;m])")
MAX_COLUMNS: Final = 100


class Topic(msgspec.Struct, frozen=True):
    """What to explain."""

    topic: Annotated[tuple[str, ...], Positional("TOPIC", "a command, a topic, commands, options or topics")] = ()
    man: Annotated[bool, Option("print the man page (roff), to be saved as robota.1")] = False


def explain(host: VerbHost, args: Topic) -> Answer:
    """The first page, or that of the topic."""
    if args.man:
        from robota.cli.help.man_page import man_page

        return raw(man_page().removesuffix("\n"))
    if not args.topic:
        return raw(front_page(tuple(topics())))
    return _about(args.topic[0].lower(), args.topic[1:])


def _about(name: str, rest: Sequence[str]) -> Answer:
    if name in LISTS:
        return raw({"commands": all_commands, "options": _all_options, "topics": _all_topics}[name]())
    topic = None if rest else topic_named(name)
    if name in SUBCOMMANDS:
        return _page(topic, _usage(name, rest))
    if topic is None:
        suggestion = did_you_mean(name, help_words())
        raise WrongArguments(f"There is no command and no topic {name!r}.{suggestion} robota help topics lists them.")
    return _page(topic)


def _usage(name: str, rest: Sequence[str]) -> str:
    """The help of a command, or of the action of it that is named."""
    from robota.cli.verb_parser import subcommand_parser

    parser = subcommand_parser(name)
    actions = parser.actions()
    if not rest:
        return parser.format_help()
    if rest[0] in actions:
        return actions[rest[0]].format_help()
    raise WrongArguments(f"{name} has no action {rest[0]!r}.{did_you_mean(rest[0], actions)}")


def _all_options() -> str:
    return main_parser().format_help().rstrip("\n")


def _all_topics() -> str:
    rows = [(f"  {topic.name}", topic.title()) for topic in topics().values()]
    if not rows:
        return "The documentation pages were not installed with this program."
    return "\n".join(["robota help TOPIC shows one of them.", "", *in_columns(rows, terminal_width())])


def _page(topic: DocumentationPage | None, usage: str = "") -> Answer:
    """On a terminal the page is drawn and paged; elsewhere it is the text as it was written."""
    width = terminal_width()
    if topic is None or width is None:
        return raw("\n".join(part.rstrip("\n") for part in (usage, topic.text() if topic else "") if part))
    from robota.clients.tui.markdown.answer import StreamedAnswer
    from robota.clients.tui.palettes import theme_for
    from robota.workspace.process.pager import page_text

    columns = min(width - 1, MAX_COLUMNS)
    drawn = StreamedAnswer(theme_for(os.environ))
    # Grey on one terminal is the background of another, so it is dropped; dim text is readable on both.
    rows = [GREY.sub("2", row) for row in (*drawn.feed(topic.text(), columns), *drawn.finish(columns))]
    page_text("\n".join([*usage.splitlines(), *([""] if usage else []), *rows]) + "\n", os.environ)
    return ended(DONE)


FAMILY: Final = Family(
    name="help",
    about="Show the help overview, a command, or a documentation page.",
    main=ProgramVerb("help", "", Topic, explain),
)

"""`/output-style`: sets the output style, which is saved in the settings of the user."""

from collections.abc import Iterable, Sequence
from typing import Final

from robota.app.knowledge.output_styles import output_styles
from robota.commands.command import SlashCommand, shown_text, wrong_arguments
from robota.commands.effect import reads_only
from robota.commands.host import CommandHost
from robota.commands.saved_setting import save_setting
from robota.knowledge.output_styles import OutputStyle
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    SessionWanted,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.text.visible import single_line

DEFAULT: Final = "default"
NO_STYLES: Final = (
    "There are no output styles. Add one as .robota/output-styles/NAME.md or .claude/output-styles/NAME.md, in the "
    "project or your home directory, or install a plugin that has one."
)
OUTPUT_STYLE: Final = SlashCommandInfo(
    name="output-style",
    argument_hint="[NAME | default]",
    description="set the output style, for this and later sessions",
    while_working=False,
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/output-style`. A change reopens the session, because the system prompt changes."""

    async def run(arguments: str) -> CommandOutcome | Refused:
        styles = _styles(host)
        if not arguments:
            return _choice(host, styles) if styles else shown_text(NO_STYLES)
        by_lower_name = {style.name.lower(): style.name for style in styles}
        name = by_lower_name.get(arguments.lower(), DEFAULT if arguments.lower() == DEFAULT else "")
        if not name:
            listed = ", ".join((DEFAULT, *by_lower_name.values()))
            problem = f"There is no output style {single_line(arguments)!r}. Available: {listed}."
            return wrong_arguments(OUTPUT_STYLE, problem)
        refused = await save_setting(host, ("outputStyle",), None if name == DEFAULT else name)
        return refused or SessionWanted(session_id=host.options.session_id)

    def words(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
        if not before:
            yield SubcommandInfo(name=DEFAULT, description="no style")
            yield from (SubcommandInfo(name=style.name, description=style.description) for style in _styles(host))

    yield SlashCommand(
        info=OUTPUT_STYLE, run=run, effect=reads_only("", instead="robota config set outputStyle NAME"), complete=words
    )


def _choice(host: CommandHost, styles: Sequence[OutputStyle]) -> CommandChoice:
    now = DEFAULT if host.options.style is None else host.options.style.name
    options = (
        CommandOption(label=DEFAULT, line=f"/output-style {DEFAULT}", detail="no style"),
        *(
            CommandOption(label=style.name, line=f"/output-style {style.name}", detail=style.description)
            for style in styles
        ),
    )
    return CommandChoice(title=f"The output style is {now}.", options=options)


def _styles(host: CommandHost) -> Sequence[OutputStyle]:
    return output_styles(host.settings, host.opened.plugins, host.cwd, host.env)

"""Commands about the workspace: diff, further directories, review and instructions."""

from collections.abc import Iterable
from typing import Final

from robota.commands.command import SlashCommand, send_prompt, shown_diff, shown_text, wrong_arguments
from robota.commands.effect import prompts, reads, reads_only
from robota.commands.host import CommandHost
from robota.config.errors import ConfigError
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, SlashCommandInfo
from robota.text.visible import printable_name

DIFF: Final = SlashCommandInfo(
    name="diff", argument_hint="[N]", description="show what this session changed, or only prompt N"
)
INIT: Final = SlashCommandInfo(
    name="init",
    argument_hint="[WORDS]",
    description="let the model write or improve AGENTS.md, optionally with guidance",
    needs_model=True,
)
ADD_DIR: Final = SlashCommandInfo(
    name="add-dir",
    argument_hint="[DIR]",
    description="let the agent read a directory outside the workspace, in this session; or list them",
)
NO_DIRECTORIES: Final = "The agent reads only in the workspace. To add a directory: /add-dir DIR"
REVIEW: Final = SlashCommandInfo(
    name="review",
    argument_hint="[WORDS]",
    description="let the model review the working tree, optionally with guidance",
    needs_model=True,
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/diff`, `/add-dir`, `/review` and `/init`."""
    session = host.session

    async def diff(arguments: str) -> CommandOutcome | Refused:
        if arguments and not (arguments.isascii() and arguments.isdecimal()):
            return wrong_arguments(DIFF, "Give a prompt number from /rewind list.")
        diff_result = await session.rewind.diff(int(arguments) if arguments else None)
        return diff_result if isinstance(diff_result, Refused) else shown_diff(diff_result, "Nothing was changed.")

    async def add_dir(arguments: str) -> CommandOutcome | Refused:
        return _add_directory(host, arguments.strip())

    async def init(arguments: str) -> CommandOutcome | Refused:
        return await send_prompt(session, f"/init {arguments}".strip())

    async def review(arguments: str) -> CommandOutcome | Refused:
        return await send_prompt(session, f"/review {arguments}".strip())

    yield SlashCommand(info=DIFF, run=diff, effect=reads)
    yield SlashCommand(info=ADD_DIR, run=add_dir, effect=reads_only("", instead="robota --add-dir DIR"))
    yield SlashCommand(info=REVIEW, run=review, effect=prompts)
    yield SlashCommand(info=INIT, run=init, effect=prompts)


def _add_directory(host: CommandHost, typed: str) -> CommandOutcome | Refused:
    from robota.workspace.sandbox.home.added_directories import NotAdded

    added = host.opened.policy.added
    if added is None or not typed:
        directories = () if added is None else added.now()
        return shown_text("\n".join(map(printable_name, map(str, directories))) or NO_DIRECTORIES)
    try:
        directory = added.directories().add(host.path(typed))
    except (NotAdded, ConfigError) as error:
        return Refused(code="not_added", message=str(error))
    name = printable_name(str(directory))
    return shown_text(f"In this session the agent may read {name}, and not change it. Nothing of it takes effect.")

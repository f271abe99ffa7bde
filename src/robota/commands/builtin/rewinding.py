"""`/rewind`: lists the prompts of the session, shows what they changed, and restores earlier states."""

from collections.abc import Iterable, Sequence
from typing import Final

from robota.commands.command import SlashCommand, shown_diff, shown_text, wrong_arguments
from robota.commands.host import CommandHost
from robota.commands.point_table import point_table
from robota.commands.rewind_requests import BadRewindRequest, TypedRewind, confirmed_line, parse_rewind_request
from robota.protocol.commands import ListRewindPoints, Refused, ShowRewindDiff
from robota.protocol.rewind import PromptPoint
from robota.protocol.slash_commands import (
    CommandOutcome,
    CommandShown,
    RewindShown,
    SlashCommandInfo,
    SubcommandInfo,
)

INFO: Final = SlashCommandInfo(
    name="rewind",
    argument_hint="[list | diff [N] | restore N | undo | redo]",
    description="restore files and conversation to an earlier point",
    subcommands=(
        SubcommandInfo(name="list", description="list the prompts of this session and the files they changed"),
        SubcommandInfo(name="diff", argument_hint="[N]", description="show what prompt N changed, or all prompts"),
        SubcommandInfo(
            name="restore",
            argument_hint="N|--call CALL [--files|--conversation|--only PATH|--dry-run]",
            description="restore the state before prompt N, or before a tool call",
        ),
        SubcommandInfo(name="code", argument_hint="N", description="restore only the files"),
        SubcommandInfo(name="undo", description="undo the last restore"),
        SubcommandInfo(name="redo", description="redo what undo reverted"),
    ),
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/rewind`. A restore is previewed first; the line in the preview executes it."""
    session = host.session

    async def rewind(arguments: str) -> CommandOutcome | Refused:
        try:
            request = parse_rewind_request(arguments)
        except BadRewindRequest:
            return wrong_arguments(INFO, "Invalid arguments for /rewind.")
        match request:
            case ListRewindPoints():
                points = await session.rewind.points()
                return points if isinstance(points, Refused) else _listed(points)
            case ShowRewindDiff(number=number):
                diff = await session.rewind.diff(number)
                return diff if isinstance(diff, Refused) else shown_diff(diff, "Nothing has changed.")
            case TypedRewind(is_confirmed=True):
                done = await session.rewind.go(request.request)
                return done if isinstance(done, Refused) else RewindShown(result=done, is_done=True)
            case TypedRewind():
                preview = await session.rewind.preview(request.request)
                if isinstance(preview, Refused):
                    return preview
                is_offered = not request.is_dry_run and not preview.is_empty
                line = confirmed_line(arguments, preview.state) if is_offered else None
                return RewindShown(result=preview, line=line)

    yield SlashCommand(info=INFO, run=rewind)


def _listed(points: Sequence[PromptPoint]) -> CommandShown:
    return CommandShown(view=point_table(points)) if points else shown_text("This session has no prompts.")

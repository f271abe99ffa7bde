"""Commands about the context window: show it, condense it, undo that, and pin turns."""

from collections.abc import Iterable

from robota.commands.command import Run, SlashCommand, shown_text, wrong_arguments
from robota.commands.host import CommandHost
from robota.engine.session.session import Session
from robota.protocol.commands import CondenseContext, PinTurn, Refused, RestoreContext
from robota.protocol.slash_commands import (
    CommandOutcome,
    CommandStarted,
    ContextShown,
    PreviewShown,
    SlashCommandInfo,
    SubcommandInfo,
)

CONTEXT = SlashCommandInfo(name="context", argument_hint="[all]", description="show what fills the context window")
COMPACT = SlashCommandInfo(
    name="compact",
    argument_hint="[WORDS]",
    description="condense the conversation now, optionally with guidance",
    subcommands=(
        SubcommandInfo(name="preview", description="show what would be kept, summarised and dropped"),
        SubcommandInfo(name="undo", argument_hint="[ID]", description="undo the newest condensation, or this one"),
    ),
    needs_model=True,
)
PIN = SlashCommandInfo(
    name="pin", argument_hint="TURN", description="keep a turn verbatim; /context shows turn numbers"
)
UNPIN = SlashCommandInfo(name="unpin", argument_hint="TURN", description="allow a turn to be condensed again")


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/context`, `/compact`, `/pin` and `/unpin`."""
    session = host.session

    async def context(arguments: str) -> CommandOutcome | Refused:
        if arguments not in ("", "all"):
            return wrong_arguments(CONTEXT, f"{arguments!r} is not a valid argument.")
        update = await session.context.update()
        return update if isinstance(update, Refused) else ContextShown(update=update, is_whole=arguments == "all")

    async def compact(arguments: str) -> CommandOutcome | Refused:
        word, _, rest = arguments.partition(" ")
        if arguments == "preview":
            preview = await session.context.preview()
            return preview if isinstance(preview, Refused) else PreviewShown(preview=preview)
        if word == "undo" and " " not in rest.strip():
            receipt = await session.submit(RestoreContext(id=rest.strip() or None))
            return (
                receipt if isinstance(receipt, Refused) else shown_text("The removed content is back in the context.")
            )
        receipt = await session.submit(CondenseContext(text=arguments or None))
        if isinstance(receipt, Refused):
            return receipt
        if receipt.outcome is not None:
            return receipt.outcome
        if receipt.is_deferred:
            return shown_text("The conversation will be condensed before the next request.")
        return CommandStarted()

    yield SlashCommand(info=CONTEXT, run=context)
    yield SlashCommand(info=COMPACT, run=compact)
    yield SlashCommand(info=PIN, run=_pinning(session, PIN, is_pinned=True))
    yield SlashCommand(info=UNPIN, run=_pinning(session, UNPIN, is_pinned=False))


def _pinning(session: Session, info: SlashCommandInfo, *, is_pinned: bool) -> Run:
    async def pin(arguments: str) -> CommandOutcome | Refused:
        if not (arguments.isascii() and arguments.isdecimal()):
            return wrong_arguments(info, "Give a turn number.")
        receipt = await session.submit(PinTurn(turn=int(arguments), is_pinned=is_pinned))
        if isinstance(receipt, Refused):
            return receipt
        return shown_text(f"Turn {arguments} {'is pinned' if is_pinned else 'may be condensed again'}.")

    return pin

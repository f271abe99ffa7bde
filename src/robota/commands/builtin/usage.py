"""Commands about where the session stands: its state, what it costs, its todo list, condensing it."""

from collections.abc import Iterable

from robota.commands.command import SlashCommand, fields, told
from robota.engine.session.session import Session
from robota.protocol.commands import CondenseContext, Refused
from robota.protocol.events import TokenUsage
from robota.protocol.slash_commands import CommandOutcome, CommandShown, CommandStarted, ContextShown, SlashCommandInfo
from robota.protocol.views import TodoView


def usage_commands(session: Session) -> Iterable[SlashCommand]:
    """`/status`, `/cost`, `/context`, `/todos` and `/compact`."""

    async def status(arguments: str) -> CommandOutcome:
        state = session.state()
        return fields(
            "Session",
            ("id", state.session_id),
            ("name", state.name or "none"),
            ("directory", state.cwd),
            ("model", state.model),
            ("mode", state.mode),
            ("permission mode", state.permission_mode),
            ("sandbox", state.sandbox or "not needed yet"),
            ("log", state.log_path or "none"),
        )

    async def cost(arguments: str) -> CommandOutcome:
        return _cost(session.state().session_id, session.usage())

    async def context(arguments: str) -> CommandOutcome | Refused:
        update = session.context()
        return update if isinstance(update, Refused) else ContextShown(update=update, is_whole=arguments == "all")

    async def todos(arguments: str) -> CommandOutcome:
        items = session.state().todos
        if not items:
            return told("There is no todo list.")
        return CommandShown(
            view=TodoView(items=tuple({"content": item.content, "status": item.status} for item in items))
        )

    async def compact(arguments: str) -> CommandOutcome | Refused:
        receipt = await session.submit(CondenseContext(text=arguments or None))
        if isinstance(receipt, Refused):
            return receipt
        if receipt.is_deferred:
            return told("The conversation is shortened before the next request.")
        return CommandStarted()

    yield SlashCommand(info=SlashCommandInfo(name="status", description="the session, its model and modes"), run=status)
    yield SlashCommand(info=SlashCommandInfo(name="cost", description="tokens used and what they cost"), run=cost)
    yield SlashCommand(
        info=SlashCommandInfo(
            name="context", argument_hint="[all]", description="what fills the context window of the model"
        ),
        run=context,
    )
    yield SlashCommand(info=SlashCommandInfo(name="todos", description="the todo list of the task"), run=todos)
    yield SlashCommand(
        info=SlashCommandInfo(
            name="compact",
            argument_hint="[WORDS]",
            description="shorten the conversation now; words say what matters most",
            needs_model=True,
        ),
        run=compact,
    )


def _cost(session_id: str, usage: TokenUsage) -> CommandShown:
    price = "unknown: the price of the model is not known" if usage.total_cost is None else f"${usage.total_cost:.4f}"
    return fields(
        f"Session {session_id}",
        ("tokens in", f"{usage.total_tokens_in:,}"),
        ("tokens out", f"{usage.total_tokens_out:,}"),
        ("read from the cache", f"{usage.total_cache_reads:,}"),
        ("written to the cache", f"{usage.total_cache_writes:,}"),
        ("cost", price),
    )

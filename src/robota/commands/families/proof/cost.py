"""What was spent: by the session of the conversation, and by all sessions; and what budgets leave."""

from typing import Annotated, Final, Literal

import msgspec

from robota.commands.sessions.budget_table import budget_table
from robota.commands.verb import Answer, Family, ReadingVerb, shown_parts
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Count, Option
from robota.protocol.events import TokenUsage
from robota.protocol.views import FieldsView, NamedText, SimpleView
from robota.text.counted import counted


class ShowCost(msgspec.Struct, frozen=True, kw_only=True):
    """What is added up."""

    by: Annotated[
        Literal["day", "project", "model", "agent"] | None,
        Option("add up by day, project, model or agent (default: day)"),
    ] = None
    days: Annotated[Count, Option("the last N days (default: 30)", "N")] = 30
    all: Annotated[bool, Option("include the sessions of all projects")] = False


def _cost(host: VerbHost, args: ShowCost) -> Answer:
    if host.opened is not None and args == ShowCost():
        return _of_session(host.opened.session.state().session_id, host.opened.session.usage())
    # Imported only if sessions are added up.
    from robota.commands.sessions.spending import spending

    return spending(host, args.by or "day", args.days, everywhere=args.all)


def _of_session(session_id: str, usage: TokenUsage) -> Answer:
    """What the session of the conversation has spent, and what limits it."""
    price = "unknown: there is no price for this model" if usage.total_cost is None else f"${usage.total_cost:.4f}"
    about = f" ({counted(usage.estimated_requests, 'request')} estimated)" if usage.estimated_requests else ""
    fields = (
        NamedText(name="tokens in", text=f"{usage.total_tokens_in:,}{about}"),
        NamedText(name="tokens out", text=f"{usage.total_tokens_out:,}"),
        NamedText(name="read from the cache", text=f"{usage.total_cache_reads:,}"),
        NamedText(name="written to the cache", text=f"{usage.total_cache_writes:,}"),
        NamedText(name="cost", text=f"{price}{about}" if usage.total_cost else price),
    )
    parts: list[SimpleView] = [FieldsView(heading=f"Session {session_id}", fields=fields)]
    return shown_parts([*parts, *budget_table(usage.budget)], usage)


FAMILY: Final = Family(
    name="cost",
    about="What was spent, and what budgets leave. In a conversation: of this session, unless an option is given.",
    description="show tokens used, their cost, and budgets",
    aliases=("usage",),
    main=ReadingVerb("cost", "show what was spent, by day, project, model or agent", ShowCost, _cost),
)

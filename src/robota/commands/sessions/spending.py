"""Adds up what sessions have spent, by day, project, model or agent."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from robota.app.budgets import project_key, shared_limits, today
from robota.commands.sessions.budget_table import budget_table
from robota.commands.sessions.selection import stored_sessions
from robota.commands.verb import Answer, VerbFailed, shown_parts
from robota.commands.verb_host import VerbHost
from robota.config.paths import user_directory
from robota.contracts.budget import money_in_words
from robota.engine.budgets.ledger import DIRECTORY
from robota.engine.budgets.ledger_file import read_state, states_of
from robota.engine.budgets.task_budget import shown_account
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.catalogue.summary import SpentOn
from robota.protocol.conversation import BudgetAccount
from robota.protocol.views import SimpleView, TableView, TextView
from robota.text.counted import counted
from robota.text.visible import single_line

By = Literal["day", "project", "model", "agent"]

DAY_S: Final = 86_400
BAR: Final = 24
MAX_ROWS: Final = 40
MAX_NAME: Final = 60
MAIN: Final = "you"


class SpentBy(msgspec.Struct, frozen=True, kw_only=True):
    """What was spent under one name. `cost_usd` is without the requests whose price is unknown."""

    name: str
    cost_usd: float
    tokens: int
    requests: int
    unpriced_requests: int
    estimated_requests: int


def spending(host: VerbHost, by: By, days: int, *, everywhere: bool) -> Answer:
    """What the sessions of the last days have spent, and what budgets that they share leave."""
    since = time.strftime("%Y-%m-%d", time.localtime(time.time() - (days - 1) * DAY_S))
    sessions = stored_sessions(host, everywhere=everywhere or by == "project")
    rows = _added_up(sessions, by, since)
    accounts = tuple(_shared_accounts(host))
    data = {"by": by, "since": since, "spent": rows, "budgets": accounts}
    parts = [*_table(rows, by), TextView(text=_summary(rows, since)), *budget_table(accounts)]
    return shown_parts(parts, data)


def _added_up(sessions: Iterable[CataloguedSession], by: By, since: str) -> list[SpentBy]:
    names: dict[By, Callable[[CataloguedSession, str, str], str]] = {
        "day": lambda session, day, model: day,
        "project": lambda session, day, model: session.workspace,
        "model": lambda session, day, model: model or "unknown",
        "agent": lambda session, day, model: _agent(session),
    }
    sums: dict[str, SpentOn] = {}
    for session in sessions:
        spending = session.summary.spending if session.is_own else {}
        for day, models in spending.items():
            for model, spent in models.items() if day >= since else ():
                _add(sums.setdefault(names[by](session, day, model), SpentOn()), spent)
    rows = [_spent_by(name, spent) for name, spent in sums.items()]
    return sorted(rows, key=lambda row: row.name if by == "day" else (-row.cost_usd, -row.tokens, row.name))


def _agent(session: CataloguedSession) -> str:
    header = session.summary.header
    return (header.agent_type or "agent") if header is not None and session.is_agent else MAIN


def _add(total: SpentOn, spent: SpentOn) -> None:
    for name in SpentOn.__struct_fields__:
        setattr(total, name, getattr(total, name) + getattr(spent, name))


def _spent_by(name: str, spent: SpentOn) -> SpentBy:
    return SpentBy(
        name=name,
        cost_usd=spent.money / 1_000_000,
        tokens=spent.tokens,
        requests=spent.requests,
        unpriced_requests=spent.unpriced,
        estimated_requests=spent.estimated,
    )


def _table(rows: list[SpentBy], by: By) -> Iterator[SimpleView]:
    """The rows with bars: of money, or of tokens where nothing has cost anything."""
    if not rows:
        return
    shown = rows[-MAX_ROWS:] if by == "day" else rows[:MAX_ROWS]
    has_costs = any(row.cost_usd for row in shown)
    sizes = [row.cost_usd if has_costs else float(row.tokens) for row in shown]
    most = max(sizes) or 1.0
    cells = (
        (
            single_line(_short(row.name) if by == "project" else row.name, MAX_NAME),
            _price(row),
            f"{row.tokens:,}",
            f"{row.requests:,}",
            _bar(size / most),
        )
        for row, size in zip(shown, sizes, strict=True)
    )
    yield TableView(columns=(by.upper(), "COST", "TOKENS", "REQUESTS", ""), rows=tuple(cells))


def _price(row: SpentBy) -> str:
    if row.unpriced_requests == row.requests:
        return "unknown"
    return f"{money_in_words(round(row.cost_usd * 1_000_000))}{'+' if row.unpriced_requests else ''}"


def _bar(share: float) -> str:
    """A bar in eighths of a character."""
    eighths = max(1, round(share * BAR * 8)) if share > 0 else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def _short(path: str) -> str:
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path == home or path.startswith(home + os.sep) else path


def _summary(rows: list[SpentBy], since: str) -> str:
    if not rows:
        return f"Nothing was spent since {since}. What sessions spend is in their logs."
    total = money_in_words(sum(round(row.cost_usd * 1_000_000) for row in rows))
    unpriced, estimated = (
        sum(getattr(row, name) for row in rows) for name in ("unpriced_requests", "estimated_requests")
    )
    notes = [
        f"The price of {counted(unpriced, 'request')} is unknown." if unpriced else "",
        f"The tokens of {counted(estimated, 'request')} are estimated." if estimated else "",
    ]
    tokens = sum(row.tokens for row in rows)
    return " ".join([f"Since {since}: {total}, {tokens:,} tokens.", *filter(None, notes)])


def _shared_accounts(host: VerbHost) -> Iterator[BudgetAccount]:
    """The accounts of the project and the organisation that settings limit."""
    limits = shared_limits(host.settings.values.budgets, project_key(host.kept_in))
    if not limits:
        return
    try:
        state = read_state(user_directory(host.env) / DIRECTORY)
    except OSError as error:
        raise VerbFailed(f"The accounts of budgets cannot be read: {error}. Nothing was changed.") from error
    yield from map(shown_account, states_of(state, limits, today()))

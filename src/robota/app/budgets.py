"""The limits of a session: from the settings, the options of its start, and the intents of the workspace."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.config.launch_options import LaunchOptions
from robota.config.paths import repository_top, user_directory
from robota.config.settings.schema import BudgetLimit, BudgetSettings, PeriodBudgets
from robota.contracts.budget import UNLIMITED, Limit, micro_dollars
from robota.engine.budgets.ledger import Ledger
from robota.engine.budgets.ledger_file import Period, SharedLimit
from robota.engine.budgets.session_budget import BudgetPlan

if TYPE_CHECKING:
    from robota.intents.selection import IntentSelection

ORGANISATION: Final = "organisation"
IN_WORDS: Final = {Period.DAY: " for today", Period.MONTH: " for this month", Period.TOTAL: ""}


def session_budgets(
    settings: BudgetSettings,
    launch: LaunchOptions,
    project: Path,
    env: Mapping[str, str],
    selection: "IntentSelection | None",
) -> BudgetPlan | None:
    """What limits a session; None if nothing does."""
    options = Limit(
        money=None if launch.max_cost is None else micro_dollars(launch.max_cost), tokens=launch.max_tokens_total
    )
    leased = None if launch.place is None else launch.place.budget
    options = options if leased is None else options.narrowed(Limit(**leased))
    session, agent = options.narrowed(limit_of(settings.session)), limit_of(settings.agent)
    key = project_key(project)
    shared = shared_limits(settings, key)
    has_intents = selection is not None and any(intent.budget for intent in selection.files.known_intents())
    ledger = None
    if shared or has_intents:
        chosen = selection if has_intents else None
        ledger = Ledger(user_directory(env), lambda: (*_of_intent(chosen, key), *shared), today)
    plan = BudgetPlan(session=session, agent=agent, shared=ledger, is_leased=leased is not None)
    return plan if plan.is_needed or not agent.is_unlimited else None


def limit_of(written: BudgetLimit) -> Limit:
    """A limit of the settings in integers."""
    return Limit(
        money=None if written.usd is None else micro_dollars(written.usd),
        tokens=written.tokens,
        requests=written.requests,
        milliseconds=None if written.minutes is None else round(written.minutes * 60_000),
    )


def shared_limits(settings: BudgetSettings, project: str) -> tuple[SharedLimit, ...]:
    """The limits of the accounts that sessions share, the smallest account first."""
    return (*_limits(settings.project, project, "project"), *_limits(settings.organisation, ORGANISATION, ORGANISATION))


def project_key(project: Path) -> str:
    """The account of a project. All directories of a repository share it."""
    real = Path(os.path.realpath(project))
    return f"project:{repository_top(real) or real}"


def today() -> str:
    """The local date."""
    return time.strftime("%Y-%m-%d")


def _limits(budgets: PeriodBudgets, key: str, name: str) -> Sequence[SharedLimit]:
    of_period = ((Period.DAY, budgets.day), (Period.MONTH, budgets.month), (Period.TOTAL, budgets.total))
    limits = ((period, limit_of(written)) for period, written in of_period)
    return [
        SharedLimit(key=key, name=f"{name}{IN_WORDS[period]}", period=period, limit=limit)
        for period, limit in limits
        if limit != UNLIMITED
    ]


def _of_intent(selection: "IntentSelection | None", project: str) -> Sequence[SharedLimit]:
    """The budget of the intent that is selected now."""
    selected = None if selection is None else selection.selected
    if selection is None or selected is None:
        return ()
    intent = next((each for each in selection.files.known_intents() if each.id == selected), None)
    if intent is None or intent.budget is None:
        return ()
    key = f"intent:{selected}:{project}"
    return (SharedLimit(key=key, name=f"intent {selected}", period=Period.TOTAL, limit=intent.budget),)

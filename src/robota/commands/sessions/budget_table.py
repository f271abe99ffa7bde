"""Accounts of budgets as a table: what they limit, what is spent and held of it, and what is free."""

from collections.abc import Iterable, Iterator

from robota.contracts.budget import in_words
from robota.protocol.conversation import BudgetAccount
from robota.protocol.views import SimpleView, TableView, TextView


def budget_table(accounts: Iterable[BudgetAccount]) -> Iterator[SimpleView]:
    """What accounts limit, what is spent and held of it, and what is free."""
    rows = [
        (account.name, *(in_words(measure, figures[measure]) for figures in _figures(account)))
        for account in accounts
        for measure in account.limit
    ]
    if rows:
        yield TextView(text="")
        yield TableView(columns=("BUDGET", "LIMIT", "SPENT", "ESTIMATED", "HELD", "FREE"), rows=tuple(rows))


def _figures(account: BudgetAccount) -> tuple[dict[str, int], ...]:
    return account.limit, account.spent, account.estimated, account.held, account.free

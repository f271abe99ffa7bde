"""The file of the accounts that sessions share: what was spent on which day, and what is held now."""

import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import make_private_directory, read_file
from robota.contracts.budget import Amount, Limit
from robota.engine.budgets.account import AccountState

ACCOUNTS: Final = "accounts.json"
OWNERS: Final = "owners"
MOST_DAYS: Final = 400


class Period(StrEnum):
    """What a limit of a shared account is for."""

    DAY = "day"
    MONTH = "month"
    TOTAL = "total"


class SharedLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of a shared account. `name` is how messages call it: project (today)."""

    key: str
    name: str
    period: Period
    limit: Limit


class SharedSpending(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was spent, and the part of it that no server reported."""

    spent: Amount = Amount()
    estimated: Amount = Amount()

    def plus(self, used: Amount, *, is_estimated: bool) -> "SharedSpending":
        """With a further amount."""
        return SharedSpending(
            spent=self.spent + used, estimated=self.estimated + used if is_estimated else self.estimated
        )


class SharedAccount(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What was spent from one account: altogether, and by day. A clock that is set back finds what it left."""

    total: SharedSpending = SharedSpending()
    days: dict[str, SharedSpending] = {}

    def charge(self, day: str, used: Amount, *, is_estimated: bool) -> None:
        """Add what was used."""
        self.total = self.total.plus(used, is_estimated=is_estimated)
        self.days[day] = self.days.get(day, SharedSpending()).plus(used, is_estimated=is_estimated)
        for oldest in sorted(self.days)[:-MOST_DAYS]:
            del self.days[oldest]

    def in_period(self, period: Period, day: str) -> SharedSpending:
        """What was spent in the period that the day belongs to."""
        if period is Period.TOTAL:
            return self.total
        of_period = [each for on, each in self.days.items() if is_in(on, period, day)]
        spent = sum((each.spent for each in of_period), Amount())
        return SharedSpending(spent=spent, estimated=sum((each.estimated for each in of_period), Amount()))


class SharedHold(msgspec.Struct, frozen=True, kw_only=True):
    """What a process holds. It is charged to the day on which it was taken, whenever that ends."""

    accounts: tuple[str, ...]
    day: str
    amount: Amount
    owner: str


class LedgerState(msgspec.Struct, kw_only=True):
    """The content of the file."""

    accounts: dict[str, SharedAccount] = {}
    holds: dict[str, SharedHold] = {}

    def settle(self, id: str, used: Amount, *, is_estimated: bool) -> None:
        """Charge what was used, once, and give back the rest."""
        hold = self.holds.pop(id, None)
        if hold is not None:
            for key in hold.accounts:
                account = self.accounts.setdefault(key, SharedAccount())
                account.charge(hold.day, used, is_estimated=is_estimated)

    def state_of(self, limit: SharedLimit, day: str) -> AccountState:
        """An account in the period of a limit."""
        spending = self.accounts.get(limit.key, SharedAccount()).in_period(limit.period, day)
        held = (
            each.amount
            for each in self.holds.values()
            if limit.key in each.accounts and is_in(each.day, limit.period, day)
        )
        return AccountState(
            name=limit.name,
            limit=limit.limit,
            spent=spending.spent,
            estimated=spending.estimated,
            held=sum(held, Amount()),
        )

    def charge_lost(self, directory: Path, own: str) -> None:
        """Charge what processes held that are dead: nobody knows what became of their requests."""
        owners = {hold.owner for hold in self.holds.values()} - {own}
        lost = {owner for owner in owners if not is_alive(directory, owner)}
        for id in [id for id, hold in self.holds.items() if hold.owner in lost]:
            self.settle(id, self.holds[id].amount, is_estimated=True)


def is_in(on: str, period: Period, day: str) -> bool:
    """Whether a day belongs to the same period as another one; days are written as 2026-11-19."""
    length = {Period.DAY: 10, Period.MONTH: 7, Period.TOTAL: 0}[period]
    return on[:length] == day[:length]


def read_state(directory: Path) -> LedgerState:
    """The state without the lock, to be shown. Raises `OSError`."""
    try:
        return state_of(read_file(directory / ACCOUNTS, follow=False))
    except FileNotFoundError:
        return LedgerState()


def state_of(data: bytes | None) -> LedgerState:
    """The state in the file. A damaged one raises `OSError`: a limit that is forgotten would limit nothing."""
    try:
        return LedgerState() if data is None else msgspec.json.decode(data, type=LedgerState)
    except msgspec.DecodeError as error:
        raise OSError(f"{ACCOUNTS} is damaged ({error}); remove it to start the accounts again") from error


def states_of(state: LedgerState, limits: Iterable[SharedLimit], day: str) -> tuple[AccountState, ...]:
    """The accounts that limits are about."""
    return tuple(state.state_of(limit, day) for limit in limits)


class OwnerMark:
    """A locked file that shows that a process lives: the lock ends with it, however it ends."""

    def __init__(self, directory: Path) -> None:
        """Raises `OSError`."""
        make_private_directory(directory / OWNERS)
        self.name = f"{os.getpid()}-{os.urandom(8).hex()}"
        self._path = directory / OWNERS / self.name
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def close(self, *, is_settled: bool) -> None:
        """End it. If holds are left, the file stays: whoever finds it unlocked charges them."""
        if is_settled:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def is_alive(directory: Path, owner: str) -> bool:
    """Whether the process with this mark lives. The mark of a dead one is removed."""
    path = directory / OWNERS / Path(owner).name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        with suppress(OSError):
            path.unlink()
        return False
    finally:
        os.close(descriptor)

"""The accounts of projects, intents and organisations: a session takes holds from them, as other processes do."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.config.transaction import transaction
from robota.contracts.budget import UNLIMITED, Amount
from robota.engine.budgets.account import AccountState, Exhausted
from robota.engine.budgets.demand import Demand
from robota.engine.budgets.ledger_file import (
    ACCOUNTS,
    LedgerState,
    OwnerMark,
    SharedHold,
    SharedLimit,
    read_state,
    state_of,
    states_of,
)

DIRECTORY: Final = "budgets"
# How often it is tried again while other processes hold what is missing, and for how long.
PAUSE_S: Final = 0.25
PATIENCE_S: Final = 300.0
# The id of a hold while no shared account is limited.
NOT_SHARED: Final = ""


class Settlement(msgspec.Struct, frozen=True):
    """What a hold has cost, until that is in the file."""

    id: str
    used: Amount
    is_estimated: bool


class Ledger:
    """The shared accounts of one session. Its changes are made one after the other, in a thread, under the lock."""

    def __init__(
        self,
        user_directory: Path,
        limits: Callable[[], Sequence[SharedLimit]],
        today: Callable[[], str],
        patience_s: float = PATIENCE_S,
    ) -> None:
        """`limits` are those that apply now, the smallest account first; `today` is the local date: 2026-11-19."""
        self._directory = user_directory / DIRECTORY
        self._limits = limits
        self._today = today
        self._patience_s = patience_s
        self._thread = ThreadPoolExecutor(1, "budgets")
        self._mark: OwnerMark | None = None
        self._count = 0
        self._unsettled: list[Settlement] = []
        self._held: dict[str, Amount] = {}
        self._newest: tuple[AccountState, ...] | None = None
        self._applied: tuple[SharedLimit, ...] = ()

    async def hold(self, demand: Demand) -> tuple[str, Amount]:
        """Take as much of a demand as fits; if others may give something back, try again for a while."""
        self._applied = tuple(self._limits())
        if not self._applied:
            return NOT_SHARED, demand.amount(demand.most_output)
        deadline = asyncio.get_running_loop().time() + self._patience_s
        while True:
            taken = self._thread.submit(self._take, demand, self._applied)
            try:
                result = await asyncio.shield(asyncio.wrap_future(taken))
            except asyncio.CancelledError:
                taken.add_done_callback(self._give_back)
                raise
            if isinstance(result, tuple):
                return result
            may_come_back = demand.fitting(result.limit.left_after(result.spent)) is not None
            if not may_come_back or asyncio.get_running_loop().time() > deadline:
                raise Exhausted(result, demand.least)
            await asyncio.sleep(PAUSE_S)

    def settle(self, id: str, used: Amount, *, is_estimated: bool) -> None:
        """Charge what was used; what cannot be written now is written with the next change."""
        if id == NOT_SHARED:
            return
        self._unsettled.append(Settlement(id, used, is_estimated))
        self._show(self._held.get(id, Amount()), used, is_estimated=is_estimated)
        # While the ledger is closed, that is the last thing it does.
        with suppress(RuntimeError):
            self._thread.submit(self._settle).add_done_callback(_noted)

    def states(self) -> tuple[AccountState, ...]:
        """The accounts as this session has seen them last."""
        limits = tuple(self._limits())
        if self._newest is None or limits != self._applied:
            self._applied = limits
            try:
                self._newest = states_of(read_state(self._directory), limits, self._today())
            except OSError:
                return states_of(LedgerState(), limits, self._today())
        return self._newest

    def _show(self, held: Amount, used: Amount, *, is_estimated: bool) -> None:
        """Let the states show a settlement that is not written yet."""
        more = used if is_estimated else Amount()
        self._newest = tuple(
            msgspec.structs.replace(
                state, held=state.held - held, spent=state.spent + used, estimated=state.estimated + more
            )
            for state in self._newest or ()
        )

    def close(self) -> None:
        """Write what is left. A hold that stays open is charged by whoever looks next."""
        self._thread.shutdown()
        if self._unsettled:
            with suppress(OSError):
                self._settle()
        if self._mark is not None:
            self._mark.close(is_settled=not self._held)

    def _take(self, demand: Demand, limits: Sequence[SharedLimit]) -> tuple[str, Amount] | AccountState:
        """A hold, or the account that has too little. Runs in the thread."""
        day = self._today()
        try:
            with self._changing() as state:
                states = states_of(state, limits, day)
                free = UNLIMITED
                for each in states:
                    free = free.narrowed(each.free)
                amount = demand.fitting(free)
                if amount is not None:
                    id = self._new_id()
                    keys = tuple(dict.fromkeys(limit.key for limit in limits))
                    state.holds[id] = SharedHold(accounts=keys, day=day, amount=amount, owner=self._owner.name)
        except OSError as error:
            cause = f"its accounts cannot be written ({error}). Free some space, or remove the limit."
            raise Exhausted(states_of(LedgerState(), limits, day)[0], demand.least, cause) from error
        self._newest = states_of(state, limits, day)
        if amount is None:
            return next(each for each in states if demand.fitting(each.free) is None)
        self._held[id] = amount
        return id, amount

    def _settle(self) -> None:
        with self._changing() as state:
            pass
        self._newest = states_of(state, self._applied, self._today())

    @contextmanager
    def _changing(self) -> Iterator[LedgerState]:
        """The state, which is written at the end, with all that was settled since and what dead processes held."""
        settled = tuple(self._unsettled)
        with transaction(self._directory) as files:
            before = files.read(ACCOUNTS, follow=False)
            state = state_of(before)
            for each in settled:
                state.settle(each.id, each.used, is_estimated=each.is_estimated)
            state.charge_lost(self._directory, self._owner.name)
            yield state
            after = msgspec.json.encode(state)
            if after != before:
                files.write(ACCOUNTS, after)
        del self._unsettled[: len(settled)]
        for each in settled:
            self._held.pop(each.id, None)

    @property
    def _owner(self) -> OwnerMark:
        if self._mark is None:
            self._mark = OwnerMark(self._directory)
        return self._mark

    def _new_id(self) -> str:
        self._count += 1
        return f"{self._owner.name}-{self._count}"

    def _give_back(self, taken: "Future[tuple[str, Amount] | AccountState]") -> None:
        """Settle a hold that was taken for a task that was stopped meanwhile."""
        result = None if taken.cancelled() or taken.exception() is not None else taken.result()
        if isinstance(result, tuple):
            self.settle(result[0], Amount(), is_estimated=False)


def _noted(done: "Future[None]") -> None:
    """What could not be written is tried again with the next change, so this is the end of it."""
    done.exception()

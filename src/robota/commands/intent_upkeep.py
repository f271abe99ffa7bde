"""Executes requests about intents, for `/intents` and `robota intents`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, assert_never

import msgspec

from robota.commands.intent_requests import (
    CompleteIntent,
    CreateIntent,
    DrawMap,
    IntentRequest,
    ListIntents,
    ReportDrift,
    ShowIntent,
    StartIntent,
)
from robota.intents.intent import Intent, IntentProblem, IntentStatus, command_of
from robota.intents.intent_files import INTENTS, MAP, IntentFiles
from robota.intents.leases import LeaseBook
from robota.intents.trace_file import trace_lines
from robota.intents.upkeep.criteria import CriterionRun, CriterionRuns
from robota.intents.upkeep.drift import IntentDrift, drift
from robota.intents.upkeep.intent_costs import spent_on_intents
from robota.intents.upkeep.intent_map import map_text, write_map
from robota.intents.upkeep.intent_text import add_intent, set_status
from robota.intents.upkeep.lessons import Lesson, note_lesson
from robota.intents.upkeep.traced_intents import TracedIntent, traced_intents
from robota.protocol.views import TableView, TextView, View
from robota.text.counted import counted
from robota.text.visible import single_line

MAX_CELL: Final = 300
MAX_NAMED: Final = 3


class IntentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a request: a view, and data for scripts. `is_well` is false if it could not be done."""

    view: View
    data: Any
    is_well: bool = True


class RanCriterion(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a criterion; `passed` is None if it was not allowed to run."""

    command: str
    passed: bool | None
    why: str = ""

    @property
    def word(self) -> str:
        return "not run" if self.passed is None else "passed" if self.passed else "failed"


class IntentUpkeep(msgspec.Struct, frozen=True, kw_only=True):
    """Executes requests. `run` runs commands under the policy and in the sandbox of the workspace.

    `complete_trace` adds what killed sessions changed. `caveat` is added to what is said of new and started intents.
    """

    files: IntentFiles
    runs: CriterionRuns
    leases: LeaseBook
    logs: Callable[[], Iterable[Path]]
    run: Callable[[Sequence[str]], Awaitable[Sequence[RanCriterion]]]
    timestamp: Callable[[], str]
    complete_trace: Callable[[], None]
    caveat: str = ""

    async def execute(self, request: IntentRequest) -> IntentAnswer:
        """Execute a request. Raises `IntentProblem` or `OSError`, without changes."""
        if isinstance(request, CompleteIntent):
            return await self._complete(request.id)
        return await asyncio.to_thread(self._execute_in_thread, request)

    def find(self, id: str) -> Intent:
        """The intent with this id. Raises `IntentProblem`."""
        intents = self.files.intents()
        found = next((each for each in intents if each.id == id), None)
        if found is None:
            known = ", ".join(each.id for each in intents) or "none"
            raise IntentProblem(f"There is no intent {single_line(id, 80)}. Available: {known}")
        return found

    def _execute_in_thread(self, request: IntentRequest) -> IntentAnswer:
        match request:
            case ListIntents():
                return _listed(self.files.intents())
            case ShowIntent(id=id):
                return _shown(self.find(id))
            case CreateIntent(new=new):
                id = add_intent(self.files, new)
                is_started = new.status is IntentStatus.IN_PROGRESS
                then = (
                    "Agents may select it now" if is_started else f"`robota intents start {id}` lets agents work on it"
                )
                text = f"{id} is {new.status}. {then}.{self.caveat}"
                return IntentAnswer(view=TextView(text=text), data={"id": id, "status": new.status})
            case StartIntent(id=id):
                return self._start(self.find(id))
            case ReportDrift(id=id):
                return self._report([self.find(id)] if id else self.files.intents())
            case DrawMap():
                text = self._draw_map()
                return IntentAnswer(view=TextView(text=f"{text}\nWritten to {MAP}."), data={"path": MAP})
            case CompleteIntent():
                raise AssertionError("criteria need commands to run")
            case never:
                assert_never(never)

    def _start(self, intent: Intent) -> IntentAnswer:
        if intent.status is IntentStatus.IN_PROGRESS:
            text = f"{intent.id} is already IN_PROGRESS. Nothing was changed."
            return IntentAnswer(view=TextView(text=text), data=_as_json(intent))
        set_status(self.files, intent.id, IntentStatus.IN_PROGRESS)
        started = msgspec.structs.replace(intent, status=IntentStatus.IN_PROGRESS)
        text = f"{intent.id} is IN_PROGRESS: agents may select it now. It was {intent.status}.{self.caveat}"
        return IntentAnswer(view=TextView(text=text), data=_as_json(started))

    async def _complete(self, id: str) -> IntentAnswer:
        """Run the criteria and complete the intent if all passed."""
        intent = await asyncio.to_thread(self.find, id)
        if intent.status is not IntentStatus.IN_PROGRESS:
            raise IntentProblem(f"{id} is {intent.status}; only one that is IN_PROGRESS can be completed")
        ran = await self.run(intent.commands) if intent.commands else ()
        await asyncio.to_thread(self._note, intent, ran)
        is_well = all(each.passed for each in ran)
        if is_well:
            await asyncio.to_thread(set_status, self.files, id, IntentStatus.COMPLETED)
            with suppress(OSError):
                await asyncio.to_thread(self._draw_map)
        by_hand = [each for each in intent.acceptance_criteria if command_of(each) is None]
        rows = [(each.word, each.command, single_line(each.why, MAX_CELL) or "-") for each in ran]
        rows += [("by hand", single_line(each, MAX_CELL), "needs manual review") for each in by_hand]
        last = f"{id} is COMPLETED." if is_well else f"{id} stays IN_PROGRESS: a criterion did not pass."
        view = TableView(columns=("RESULT", "CRITERION", "WHY"), rows=(*rows, ("", last, "")))
        data = {"id": id, "completed": is_well, "criteria": [msgspec.to_builtins(each) for each in ran]}
        return IntentAnswer(view=view, data=data, is_well=is_well)

    def _note(self, intent: Intent, ran: Sequence[RanCriterion]) -> None:
        for each in ran:
            if each.passed is None:
                continue
            run = CriterionRun(passed=each.passed, at=self.timestamp(), why=each.why)
            with suppress(OSError):
                self.runs.note(intent.id, each.command, run)
            if not each.passed:
                lesson = Lesson(intent_id=intent.id, kind="TEST", text=f"{each.command} failed: {each.why}")
                with suppress(OSError):
                    note_lesson(self.files.home, lesson)

    def _report(self, intents: Sequence[Intent]) -> IntentAnswer:
        found = drift(intents, self._traced(), spent_on_intents(self.logs()), self.runs.all())
        holders = {lease.intent_id: lease.holder for lease in self.leases.others()}
        rows = tuple(_drift_row(each, holders.get(each.intent.id, "")) for each in found)
        columns = ("ID", "STATUS", "FILES", "SESSIONS", "COST", "APPROVALS", "DRIFT")
        data = [{**_drift_json(each), "heldBy": holders.get(each.intent.id)} for each in found]
        return IntentAnswer(view=TableView(columns=columns, rows=rows), data=data)

    def _traced(self) -> dict[str, TracedIntent]:
        """The intents by the trace; empty if it cannot be read."""
        self.complete_trace()
        try:
            return traced_intents(trace_lines(self.files.home))
        except OSError:
            return {}

    def _draw_map(self) -> str:
        text = map_text(self.files.intents(), self._traced())
        write_map(self.files.home, text)
        return text


def _listed(intents: Sequence[Intent]) -> IntentAnswer:
    rows = tuple(
        (
            intent.id,
            str(intent.status),
            counted(len(intent.owned_scope), "pattern"),
            single_line(intent.name, MAX_CELL),
        )
        for intent in intents
    )
    view: View = TableView(columns=("ID", "STATUS", "OWNS", "NAME"), rows=rows)
    if not rows:
        view = TextView(text=f"{INTENTS} contains no intents.")
    return IntentAnswer(view=view, data=[_as_json(intent) for intent in intents])


def _shown(intent: Intent) -> IntentAnswer:
    lines = [f"{intent.id}  {intent.status}  {single_line(intent.name, MAX_CELL)}"]
    if intent.description:
        lines.append(f"  {single_line(intent.description, MAX_CELL)}")
    for title, texts in (
        ("owns", intent.owned_scope),
        ("keep to", intent.constraints),
        ("done when", intent.acceptance_criteria),
    ):
        lines += [f"  {title}: {single_line(text, MAX_CELL)}" for text in texts]
    return IntentAnswer(view=TextView(text="\n".join(lines)), data=_as_json(intent))


def _drift_row(found: IntentDrift, holder: str) -> tuple[str, ...]:
    deviations = [
        *([f"outside: {_first_names(found.outside)}"] if found.outside else []),
        *([f"never run: {_first_names(found.never_run)}"] if found.never_run else []),
        *([f"failed: {_first_names(found.failed)}"] if found.failed else []),
        *([f"held by {holder}"] if holder else []),
    ]
    cost = f"${found.cost:.4f}" if found.is_cost_known else f"over ${found.cost:.4f}"
    return (
        found.intent.id,
        str(found.intent.status),
        str(found.files),
        str(found.sessions),
        cost,
        str(found.approvals),
        single_line("; ".join(deviations), MAX_CELL) or "-",
    )


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")


def _drift_json(found: IntentDrift) -> dict[str, Any]:
    return {
        "id": found.intent.id,
        "name": found.intent.name,
        "status": found.intent.status,
        "files": found.files,
        "outsideScope": list(found.outside),
        "criteriaNeverRun": list(found.never_run),
        "criteriaFailed": list(found.failed),
        "sessions": found.sessions,
        "approvals": found.approvals,
        "requests": found.requests,
        "cost": found.cost if found.is_cost_known else None,
        "hasDrifted": found.has_drifted,
    }


def _as_json(intent: Intent) -> dict[str, Any]:
    return {
        "id": intent.id,
        "name": intent.name,
        "status": intent.status,
        "description": intent.description,
        "ownedScope": intent.owned_scope,
        "constraints": intent.constraints,
        "acceptanceCriteria": intent.acceptance_criteria,
    }

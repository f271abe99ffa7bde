"""The verbs of intents: what agents may work on in a repository."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

import msgspec

from robota.commands.intent_access import CannotBeDone, IntentAccess, RanCriterion, open_intents
from robota.commands.verb import (
    CONFIGURATION,
    Answer,
    Failure,
    Family,
    NoArguments,
    ReadingVerb,
    RunsCommands,
    Verb,
    explain,
    shown,
    table,
    told,
)
from robota.commands.verb_host import VerbHost
from robota.config.arguments import ListOption, Option, Positional, RestOfLine, ShellOption
from robota.intents.intent import Intent, IntentProblem, IntentStatus, command_of
from robota.intents.intent_files import INTENTS, MAP, has_intents
from robota.intents.upkeep.criteria import CriterionRun
from robota.intents.upkeep.drift import IntentDrift, drift
from robota.intents.upkeep.intent_costs import spent_on_intents
from robota.intents.upkeep.intent_text import NewIntent, add_intent, set_status
from robota.intents.upkeep.lessons import Lesson, note_lesson
from robota.protocol.slash_commands import SubcommandInfo
from robota.protocol.views import TableView
from robota.text.counted import counted
from robota.text.visible import single_line, visible

MAX_CELL: Final = 300
MAX_NAMED: Final = 3
NO_INTENTS: Final = f"There are no intents here: {INTENTS} does not exist. To create one: robota intents new"


def _intent_ids(host: VerbHost) -> Iterable[SubcommandInfo]:
    try:
        intents = open_intents(host).files.intents()
    except (IntentProblem, OSError):
        return
    for intent in intents:
        yield SubcommandInfo(name=intent.id, description=f"{intent.status}  {single_line(intent.name, MAX_CELL)}")


class OneIntent(msgspec.Struct, frozen=True):
    """An intent."""

    id: Annotated[str, Positional("ID", "intent id, such as INT-001", _intent_ids)]


class CreateIntent(msgspec.Struct, frozen=True, kw_only=True):
    """An intent to create."""

    name: Annotated[str, RestOfLine("NAME", "short description of the intent")]
    owns: Annotated[tuple[str, ...], ListOption("glob of files in its scope (repeatable)", "PATTERN")]
    constraint: Annotated[tuple[str, ...], Option("a constraint (repeatable)", "TEXT")] = ()
    criterion: Annotated[
        tuple[str, ...], Option("an acceptance criterion; `run: COMMAND` is executed (repeatable)", "TEXT")
    ] = ()
    start: Annotated[bool, Option("activate it at once")] = False


class CompleteIntent(RunsCommands, frozen=True, kw_only=True):
    """An intent whose criteria are run."""

    id: Annotated[str, Positional("ID", "intent id, such as INT-001", _intent_ids)]
    yes: Annotated[bool, ShellOption("run its criteria without asking")] = False


class ReportIntents(msgspec.Struct, frozen=True):
    """One intent, or all."""

    id: Annotated[str, Positional("ID", "limit to this one", _intent_ids)] = ""


def _existing(host: VerbHost, approved: Sequence[str] = ()) -> IntentAccess:
    service = open_intents(host, approved)
    if not has_intents(service.files.home):
        raise CannotBeDone(NO_INTENTS)
    return service


def _list(host: VerbHost, _: NoArguments) -> Answer:
    intents = _existing(host).files.intents()
    rows = (
        (
            intent.id,
            str(intent.status),
            counted(len(intent.owned_scope), "pattern"),
            single_line(intent.name, MAX_CELL),
        )
        for intent in intents
    )
    nothing = f"{INTENTS} contains no intents."
    return table(("ID", "STATUS", "OWNS", "NAME"), rows, list(map(_as_json, intents)), nothing=nothing)


def _show(host: VerbHost, args: OneIntent) -> Answer:
    intent = _existing(host).find(args.id)
    lines = [f"{intent.id}  {intent.status}  {single_line(intent.name, MAX_CELL)}"]
    if intent.description:
        lines.append(f"  {single_line(intent.description, MAX_CELL)}")
    for title, texts in (
        ("owns", intent.owned_scope),
        ("keep to", intent.constraints),
        ("done when", intent.acceptance_criteria),
    ):
        lines += [f"  {title}: {single_line(text, MAX_CELL)}" for text in texts]
    return told("\n".join(lines), _as_json(intent))


def _new(host: VerbHost, args: CreateIntent) -> Answer:
    service = open_intents(host)
    new = NewIntent(
        name=args.name,
        owned_scope=args.owns,
        constraints=args.constraint,
        acceptance_criteria=args.criterion,
        status=IntentStatus.IN_PROGRESS if args.start else IntentStatus.PENDING,
    )
    id = add_intent(service.files, new)
    then = "Agents may select it now" if args.start else f"`robota intents start {id}` lets agents work on it"
    return told(f"{id} is {new.status}. {then}.{service.caveat}", {"id": id, "status": new.status})


def _start(host: VerbHost, args: OneIntent) -> Answer:
    service = _existing(host)
    intent = service.find(args.id)
    if intent.status is IntentStatus.IN_PROGRESS:
        return told(f"{intent.id} is already IN_PROGRESS. Nothing was changed.", _as_json(intent))
    set_status(service.files, intent.id, IntentStatus.IN_PROGRESS)
    started = msgspec.structs.replace(intent, status=IntentStatus.IN_PROGRESS)
    text = f"{intent.id} is IN_PROGRESS: agents may select it now. It was {intent.status}.{service.caveat}"
    return told(text, _as_json(started))


async def _complete(host: VerbHost, args: CompleteIntent) -> Answer:
    """Run the criteria, which the user confirms if somebody can be asked, and complete the intent if all passed."""
    intent = await asyncio.to_thread(lambda: _existing(host).find(args.id))
    if intent.status is not IntentStatus.IN_PROGRESS:
        raise CannotBeDone(f"{intent.id} is {intent.status}; only one that is IN_PROGRESS can be completed")
    is_approved = args.yes or _is_confirmed(host, intent)
    service = _existing(host, intent.commands if is_approved else ())
    ran = await service.run(intent.commands) if intent.commands else ()
    has_passed = all(each.passed for each in ran)
    await asyncio.to_thread(_finish, service, intent, ran, is_completed=has_passed)
    by_hand = [each for each in intent.acceptance_criteria if command_of(each) is None]
    rows = [(each.word, each.command, single_line(each.why, MAX_CELL) or "-") for each in ran]
    rows += [("by hand", single_line(each, MAX_CELL), "needs manual review") for each in by_hand]
    last = f"{intent.id} is COMPLETED." if has_passed else f"{intent.id} stays IN_PROGRESS: a criterion did not pass."
    view = TableView(columns=("RESULT", "CRITERION", "WHY"), rows=(*rows, ("", last, "")))
    data = {"id": intent.id, "completed": has_passed, "criteria": [msgspec.to_builtins(each) for each in ran]}
    return shown(view, data, ok=has_passed)


def _is_confirmed(host: VerbHost, intent: Intent) -> bool:
    """Whether the user approved the commands; false if nobody can be asked, and the policy decides."""
    if not intent.commands:
        return False
    commands = (f"  {visible(command)}" for command in intent.commands)
    answer = host.ask("\n".join((f"{intent.id} is complete when these succeed:", *commands)), "Run them?", default=True)
    if answer is False:
        raise CannotBeDone("Nothing was run")
    return bool(answer)


def _finish(service: IntentAccess, intent: Intent, ran: Sequence[RanCriterion], *, is_completed: bool) -> None:
    for each in ran:
        if each.passed is None:
            continue
        run = CriterionRun(passed=each.passed, at=service.timestamp(), why=each.why)
        with suppress(OSError):
            service.runs.note(intent.id, each.command, run)
        if not each.passed:
            lesson = Lesson(intent_id=intent.id, kind="TEST", text=f"{each.command} failed: {each.why}")
            with suppress(OSError):
                note_lesson(service.files.home, lesson)
    if is_completed:
        set_status(service.files, intent.id, IntentStatus.COMPLETED)
        with suppress(OSError):
            service.draw_map()


def _status(host: VerbHost, args: ReportIntents) -> Answer:
    service = _existing(host)
    intents = [service.find(args.id)] if args.id else service.files.intents()
    drifted = drift(intents, service.traced(), spent_on_intents(service.logs()), service.runs.all())
    holders = {lease.intent_id: lease.holder for lease in service.leases.others()}
    rows = (_drift_row(each, holders.get(each.intent.id, "")) for each in drifted)
    columns = ("ID", "STATUS", "FILES", "SESSIONS", "COST", "APPROVALS", "DRIFT")
    return table(columns, rows, [{**_drift_json(each), "heldBy": holders.get(each.intent.id)} for each in drifted])


def _map(host: VerbHost, _: NoArguments) -> Answer:
    return told(f"{_existing(host).draw_map()}\nWritten to {MAP}.", {"path": MAP})


def _explain(error: Exception) -> Failure:
    if isinstance(error, CannotBeDone):
        return Failure(f"{single_line(str(error), MAX_CELL)}. Nothing was changed.")
    if isinstance(error, IntentProblem):
        problem = f"{INTENTS} is invalid: {single_line(str(error), MAX_CELL)}. Nothing was changed."
        return Failure(f"{problem}\nUntil it is fixed, agents may change nothing here.", CONFIGURATION)
    if isinstance(error, OSError):
        return Failure(f"{error.strerror or error}. Nothing was changed.")
    failure = explain(error)
    return msgspec.structs.replace(failure, message=f"{failure.message.rstrip('.')}. Nothing was changed.")


FAMILY: Final = Family(
    name="intents",
    about="Manage intents: what agents may work on in this repository.",
    description="manage intents: what agents may work on in this repository",
    default="list",
    problems=(IntentProblem, OSError),
    explain=_explain,
    verbs=(
        ReadingVerb("list", "list all intents", NoArguments, _list),
        ReadingVerb("show", "show its scope, constraints and acceptance criteria", OneIntent, _show),
        Verb("new", "create an intent; it is PENDING until started", CreateIntent, _new, hint="NAME -- PATTERN…"),
        Verb("start", "activate an intent, so that agents may work on it", OneIntent, _start),
        Verb("complete", "run its criteria and complete it if all pass", CompleteIntent, _complete),
        ReadingVerb(
            "status", "show out-of-scope files, criteria not run, sessions, cost and approvals", ReportIntents, _status
        ),
        Verb("map", "map files to the intents they were changed for, as in intent_map.md", NoArguments, _map),
    ),
)


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

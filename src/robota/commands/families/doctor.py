"""The verb `doctor`: check everything that Robota needs, and report problems with advice."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import msgspec

from robota.commands.doctor.checks import Check, Health, examine
from robota.commands.doctor.repairs import mend
from robota.commands.verb import Answer, Family, ReadingVerb, shown_parts
from robota.commands.verb_host import VerbHost
from robota.config.arguments import ChangingOption
from robota.protocol.views import TableView, TextView

MARKS: Final = {Health.GOOD: "ok", Health.NOTE: "note", Health.BAD: "BAD"}


class Examine(msgspec.Struct, frozen=True):
    """Whether problems are repaired."""

    fix: Annotated[bool, ChangingOption("first repair what can be repaired without losing anything")] = False


async def _examine(host: VerbHost, args: Examine) -> Answer:
    mended = mend(host.root, host.env, really=args.fix)
    checks = [*mended, *await examine(host.root, host.env)]
    is_well = all(check.health is not Health.BAD for check in checks)
    last = "\nEverything Robota needs is available." if is_well else "\nProblems were found; see the lines marked BAD."
    parts = (TableView(columns=(), rows=tuple(_rows(checks))), TextView(text=last))
    return shown_parts(parts, {"ok": is_well, "checks": checks}, ok=is_well)


def _rows(checks: Sequence[Check]) -> Iterator[tuple[str, ...]]:
    for check in checks:
        yield (MARKS[check.health], check.name, check.text)
        if check.advice:
            yield ("", "", f"→ {check.advice}")


FAMILY: Final = Family(
    name="doctor",
    about="Diagnose the set-up: everything that Robota needs.",
    description="diagnose the set-up; --fix repairs what it can",
    main=ReadingVerb("doctor", "diagnose the set-up", Examine, _examine),
)

"""`robota intents`: what agents may work on in this repository."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from robota.cli.command_parser import CommandParser
from robota.cli.output import print_columns, print_json
from robota.intents.intent import Intent, IntentProblem
from robota.intents.intent_files import INTENTS, IntentFiles, has_intents
from robota.text.visible import single_line

DONE: Final = 0
FAILED: Final = 1
CONFIGURATION: Final = 3
HEADINGS: Final = ("ID", "STATUS", "OWNS", "NAME")
LONGEST: Final = 300


def main(argv: Sequence[str]) -> int:
    """Run `robota intents …`; the arguments begin after `intents`."""
    options = parser().read(argv)
    root = Path.cwd()
    if not has_intents(root):
        print(f"robota: There are no intents here: no {INTENTS}. docs/intents.md shows one.", file=sys.stderr)
        return FAILED
    try:
        intents = IntentFiles(root).intents()
    except IntentProblem as problem:
        print(f"robota: {INTENTS} cannot be used: {single_line(str(problem), LONGEST)}.", file=sys.stderr)
        print("Until it is put right, agents may change nothing here.", file=sys.stderr)
        return CONFIGURATION
    if options.action == "show":
        return _show(intents, options.id, as_json=options.json)
    if options.json:
        print_json([_as_json(intent) for intent in intents])
    else:
        print_columns([HEADINGS, *(_row(intent) for intent in intents)])
    return DONE


def parser() -> CommandParser:
    """What may stand behind `robota intents`."""
    parser = CommandParser(prog="robota intents", description="What agents may work on in this repository.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="all intents")
    listing.add_argument("--json", action="store_true", help="print JSON instead of text")
    show = actions.add_parser("show", help="one intent: what it owns, what to keep to, when it is done")
    show.add_argument("id", metavar="ID")
    show.add_argument("--json", action="store_true", help="print JSON instead of text")
    return parser


def _row(intent: Intent) -> tuple[str, ...]:
    owned = f"{len(intent.owned_scope)} pattern{'' if len(intent.owned_scope) == 1 else 's'}"
    return intent.id, intent.status, owned, single_line(intent.name, LONGEST)


def _show(intents: Sequence[Intent], id: str, *, as_json: bool) -> int:
    intent = next((each for each in intents if each.id == id), None)
    if intent is None:
        known = ", ".join(each.id for each in intents) or "none"
        print(f"robota: There is no intent {single_line(id, 80)}. There is: {known}.", file=sys.stderr)
        return FAILED
    if as_json:
        print_json(_as_json(intent))
        return DONE
    print(f"{intent.id}  {intent.status}  {single_line(intent.name, LONGEST)}")
    if intent.description:
        print(f"  {single_line(intent.description, LONGEST)}")
    for title, texts in (
        ("owns", intent.owned_scope),
        ("keep to", intent.constraints),
        ("done when", intent.acceptance_criteria),
    ):
        for text in texts:
            print(f"  {title}: {single_line(text, LONGEST)}")
    return DONE


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

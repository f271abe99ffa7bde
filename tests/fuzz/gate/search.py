"""Looking for a broken promise for as long as one likes: `make fuzz FUZZ="--gate --minutes 60"`."""

import tempfile
import time
from pathlib import Path
from typing import Final

from tests.fuzz.gate.batch import missing_tools
from tests.fuzz.gate.gate import Gate, Outcome
from tests.fuzz.gate.known_holes import KNOWN_HOLES, KNOWN_HOLES_OF_RULES, KnownHole, unexplained

ROUND: Final = 1_500
EACH_RULE: Final = 1


def search(minutes: float, seed: int) -> int:
    """Try other seeds, beginning with this one, until the time is over or something was found. The exit code."""
    missing = missing_tools()
    if missing is not None:
        print(f"Commands cannot be watched: {missing}. Nothing was tried.")
        return 2
    end = time.monotonic() + minutes * 60
    judged = ran = 0
    with tempfile.TemporaryDirectory() as directory:
        gate = Gate(Path(directory))
        is_broken = _report(gate.try_unasked(gate.corpus()), KNOWN_HOLES)
        while time.monotonic() < end and not is_broken:
            unasked = gate.try_unasked(gate.made_up(seed, ROUND))
            by_rules = gate.try_suggested_rules(seed, EACH_RULE)
            is_broken = _report(unasked, KNOWN_HOLES) or _report(by_rules, KNOWN_HOLES_OF_RULES)
            judged += unasked.judged + by_rules.judged
            ran += len(unasked.ran) + len(by_rules.ran)
            print(f"seed {seed}: {judged:,} commands judged, {ran:,} of them run", flush=True)
            seed += 1
    return 1 if is_broken else 0


def _report(outcome: Outcome, holes: tuple[KnownHole, ...]) -> bool:
    found = unexplained(outcome.findings, holes)
    for finding in found:
        print(finding)
    return bool(found)

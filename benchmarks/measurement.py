"""One measured number, its target, and how a run of them is shown and stored."""

from collections.abc import Sequence
from pathlib import Path

import msgspec


class Measurement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A number that must not exceed `target`; `detail` says what it was made from."""

    name: str
    value: float
    target: float
    unit: str
    detail: str

    @property
    def is_met(self) -> bool:
        return self.value <= self.target


def table(measurements: Sequence[Measurement]) -> str:
    """Aligned columns for a user."""
    rows = [("what", "measured", "target", "", "from")]
    rows += [
        (m.name, f"{m.value:.2f} {m.unit}", f"{m.target:g} {m.unit}", "ok" if m.is_met else "MISSED", m.detail)
        for m in measurements
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows
    )


def write_json(measurements: Sequence[Measurement], path: Path) -> None:
    rows = [{**msgspec.to_builtins(m), "isMet": m.is_met} for m in measurements]
    path.write_bytes(msgspec.json.format(msgspec.json.encode({"measurements": rows}), indent=2) + b"\n")

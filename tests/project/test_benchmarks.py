"""`make bench` measures, shows and stores; it never asserts a time by itself."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.measurement import Measurement, table

ROOT = Path(__file__).parents[2]


def test_a_run_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    stored = tmp_path / "speed.json"
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "version", "--json", str(stored)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    [measurement] = json.loads(stored.read_text())["measurements"]
    assert measurement["value"] > 0
    assert measurement["isMet"] is (measurement["value"] <= measurement["target"])
    assert measurement["name"] in run.stdout


def test_a_missed_target_is_plain_to_see() -> None:
    met = Measurement(name="quick", value=1, target=2, unit="x", detail="")
    missed = Measurement(name="slow", value=3, target=2, unit="x", detail="")
    _, first, second = table([met, missed]).splitlines()
    assert "ok" in first
    assert "MISSED" in second

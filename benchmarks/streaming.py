"""What one streamed chunk costs, against reading the same stream with bare httpx2 and msgspec."""

from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.processes import Cost, alternate, median_cpu_ms

CHUNKS = 20_000
ROUNDS = 3
BARE = str(Path(__file__).with_name("bare_stream.py"))
# The name of a dialect as `bare_stream` has it, the type that speaks it, and what its base URL ends with.
CHAT = ("chat", "openai-compatible", "/v1")
OTHERS = (("messages", "anthropic", ""), ("responses", "openai", "/v1"), ("gemini", "gemini", "/v1beta"))


def chunks(bench: Bench) -> list[Measurement]:
    return [_measured(bench, *CHAT)]


def dialects(bench: Bench) -> list[Measurement]:
    """The same for the wire formats of the vendors."""
    measured = [_measured(bench, *other) for other in OTHERS]
    bench.use(_profile(bench, *CHAT[1:]))
    return measured


def _measured(bench: Bench, dialect: str, type: str, path: str) -> Measurement:
    """CPU time, because on the clock both sides mostly wait for the server; less that of a short answer."""
    bench.use(_profile(bench, type, path))

    def bare(scenario: str) -> Cost:
        bench.play(scenario)
        return bench.python(BARE, dialect, bench.server)

    stream = f"stream:{CHUNKS}"
    ours, ours_short, floor, floor_short = alternate(
        ROUNDS, lambda: bench.ask(stream), lambda: bench.ask("hello"), lambda: bare(stream), lambda: bare("hello")
    )
    events = int(floor[0].output)
    mine = (median_cpu_ms(ours) - median_cpu_ms(ours_short)) * 1000 / events
    least = (median_cpu_ms(floor) - median_cpu_ms(floor_short)) * 1000 / events
    detail = f"{mine:.1f} µs / {least:.1f} µs a chunk over {events} chunks, medians of {ROUNDS}"
    name = f"streamed chunk, {type} / bare httpx2 + msgspec"
    return Measurement(name=name, value=mine / least, target=2, unit="x", detail=detail)


def _profile(bench: Bench, type: str, path: str) -> dict[str, Any]:
    return {"type": type, "baseURL": f"{bench.server}{path}", "model": "fake-model", "apiKey": "none"}

"""What one streamed chunk costs, against reading the same stream with bare httpx2 and msgspec."""

from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.processes import Cost, alternate, median_cpu_ms

CHUNKS = 20_000
ROUNDS = 3
BARE = str(Path(__file__).with_name("bare_stream.py"))


def chunks(bench: Bench) -> list[Measurement]:
    """CPU time, because on the clock both sides mostly wait for the server; less that of a short answer."""

    def bare(scenario: str) -> Cost:
        bench.play(scenario)
        return bench.python(BARE, bench.server)

    stream = f"stream:{CHUNKS}"
    ours, ours_short, floor, floor_short = alternate(
        ROUNDS, lambda: bench.ask(stream), lambda: bench.ask("hello"), lambda: bare(stream), lambda: bare("hello")
    )
    events = int(floor[0].output)
    mine = (median_cpu_ms(ours) - median_cpu_ms(ours_short)) * 1000 / events
    least = (median_cpu_ms(floor) - median_cpu_ms(floor_short)) * 1000 / events
    detail = f"{mine:.1f} µs / {least:.1f} µs a chunk over {events} chunks, medians of {ROUNDS}"
    name = "streamed chunk / bare httpx2 + msgspec"
    return [Measurement(name=name, value=mine / least, target=2, unit="x", detail=detail)]

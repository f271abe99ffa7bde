"""What the records of the fake server say about a client's speed."""

import statistics
from itertools import pairwise

from tests.fakellm.shapes import Json


def overheads(records: list[Json]) -> Json:
    """Client time, in ms, between the end of one main answer and the arrival of the next main request."""
    main = [record for record in records if record["kind"] == "main" and "t_end" in record]
    summary: Json = {"main": len(main), "side": sum(record["kind"] == "side" for record in records)}
    gaps = [(later["t_arrive"] - earlier["t_end"]) * 1000 for earlier, later in pairwise(main)]
    if not gaps:
        return summary
    window = max(1, min(10, len(gaps) // 2))
    figures = {
        "median_ms": statistics.median(gaps),
        "first10_ms": statistics.median(gaps[:window]),
        "last10_ms": statistics.median(gaps[-window:]),
        "last_ms": gaps[-1],
        "max_ms": max(gaps),
    }
    sizes = {"first_body": main[0]["body_bytes"], "last_body": main[-1]["body_bytes"]}
    return {**summary, **{name: round(value, 2) for name, value in figures.items()}, **sizes}

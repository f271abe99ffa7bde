"""Kill a session at any point (`kill -9`) and take it up: nothing is missing, and no provider would refuse it."""

import json
import random
import select
import signal
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import msgspec

from robota.log.chain.reader import LOG_NAME, load
from robota.log.chain.verify import verify
from robota.log.replay.session import replay
from tests.cli.scripts import write_settings
from tests.fuzz.kill.strict_server import LAST_WORDS, StrictServer, strict_server
from tests.harness.cli import EXECUTABLE, Robota, clean_environment

MOST_RECORDS = 70
POLL_S = 0.002


class Killed(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session was killed, and what a person had seen by then: the rows by `ts`."""

    records: int
    last_kind: str
    seen: dict[int, str]


def kill_and_take_up(robota: Robota, seed: int) -> Killed:
    """One session, killed at a point that the seed chooses, then taken up. Asserts what must hold."""
    chance = random.Random(seed)
    (robota.workspace / "a.txt").write_text("alpha\n")
    with strict_server(seed) as server:
        _use(robota, server)
        killed = _killed(robota, chance.randrange(3, MOST_RECORDS))
        done = robota("-c", "-p", LAST_WORDS, "--output-format", "json", *_FREELY)
        assert server.refusals == [], (seed, killed.last_kind, server.refusals)
    assert done.code == 0 and json.loads(done.stdout)["is_error"] is False, (seed, killed.last_kind, done)
    log = _log(robota)
    assert verify(log).broken is None, seed
    task = replay(load(log).records).root
    assert task is not None
    rows = {row.ts: row.text or "" for row in task.messages}
    missing = {ts: text for ts, text in killed.seen.items() if not rows.get(ts, "").startswith(text)}
    assert missing == {}, (seed, killed.last_kind)
    return killed


_FREELY = ("--permission-mode", "acceptEdits", "--allowed-tools", "Bash(*)")


def _use(robota: Robota, server: StrictServer) -> None:
    profile = {"type": "openai-compatible", "model": "strict", "baseURL": server.url, "apiKey": "k"}
    settings = {
        "currentProvider": "strict",
        "providers": {"strict": profile},
        # Small enough that the conversation is condensed now and then.
        "models": {"strict": {"contextWindow": 9000, "maxOutputTokens": 1000}},
    }
    write_settings(robota, settings)


def _killed(robota: Robota, records: int) -> Killed:
    """Run a session until its log has so many records, or to its end, and kill it there."""
    command = [str(EXECUTABLE), "-p", "work on it", *_FREELY]
    with subprocess.Popen(
        command,
        cwd=robota.workspace,
        env=clean_environment(robota.home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None and _count(robota) < records:
            select.select([], [], [], POLL_S)
        process.send_signal(signal.SIGKILL)
    loaded = load(_log(robota))
    task = replay(loaded.records).root
    rows = () if task is None else task.messages
    return Killed(
        records=len(loaded.records),
        last_kind=loaded.records[-1].kind if loaded.records else "",
        seen={row.ts: row.text or "" for row in rows if row.say in ("text", "user_feedback", "tool", "command_output")},
    )


def _count(robota: Robota) -> int:
    try:
        return _log(robota).read_bytes().count(b"\n")
    except (OSError, IndexError):
        return 0


def _log(robota: Robota) -> Path:
    return sorted((robota.workspace / ".robota/sessions").glob("*/" + LOG_NAME))[0]


def search_kills(count: int, seed: int) -> int:
    """Kill `count` sessions, each in a workspace of its own; the exit code tells whether all could be taken up."""
    points: Counter[str] = Counter()
    for number in range(seed, seed + count):
        with tempfile.TemporaryDirectory(prefix="robota-kill-") as place:
            workspace, home = Path(place, "workspace"), Path(place, "home")
            workspace.mkdir()
            home.mkdir()
            points[kill_and_take_up(Robota(workspace, home), number).last_kind] += 1
    print(f"{count} sessions were killed and taken up; the last records were {dict(points)}.")
    return 0

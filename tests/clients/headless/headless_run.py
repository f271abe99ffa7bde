"""Runs print mode against a scripted engine and keeps what came out."""

import asyncio
import io
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from robota.clients.headless.client import run_headless
from robota.clients.headless.options import HeadlessOptions, OutputFormat
from tests.clients.scripted_peer import ScriptedSession, Step


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    stdout: str
    stderr: str
    session: ScriptedSession

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in self.stdout.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        return self.lines[-1]


def run_steps(
    steps: Sequence[Step],
    output_format: str = "json",
    *,
    partials: bool = False,
    verbose: bool = False,
    **session_options: Any,
) -> Ran:
    options = HeadlessOptions(
        output_format=OutputFormat(output_format), include_partial_messages=partials, verbose=verbose
    )
    return run_session(lambda: ScriptedSession(steps, **session_options), options)


def run_session(make_session: Callable[[], ScriptedSession], options: HeadlessOptions) -> Ran:
    out, err = io.BytesIO(), io.StringIO()

    async def main() -> tuple[int, ScriptedSession]:
        session = make_session()
        code = await run_headless(session, "the prompt", options, out, err)
        return code, session

    code, session = asyncio.run(main())
    return Ran(code=code, stdout=out.getvalue().decode(), stderr=err.getvalue(), session=session)

"""A deterministic fake model server, as a process: `python -m tests.fakellm --scenario loop:50 --port 0`.

It speaks four wire dialects, streamed and not, under any path prefix: OpenAI Chat Completions
(.../chat/completions), OpenAI Responses (.../responses), Anthropic Messages (.../messages), Google Gemini
(.../models/M:streamGenerateContent, :generateContent), and lists one model at GET .../models.

Scenarios, given at the start or later by POST /__fake/reset {"scenario": "loop:50"}:
    hello            one short text
    stream:K         one text of K chunks of 4 characters
    loop:N           N turns that each call one tool of the client, then a text or the client's completion tool
    script:FILE      a JSON list of {"text"?, "calls"?: [{"name", "args"}]} or {"fault": KIND}; then as hello
    fault:KIND[:C]   the first C main requests (default 1; 0 = all) go wrong, then as hello. KIND:
                       400 401 429 500 503 529 (any status); cut, cutcall: reset in the text, in a call's arguments;
                       eof: clean end without closing events; empty: a whole answer that holds nothing;
                       stall: silence; badsse: an event that is not JSON; badjson, badargs, badtool: a bad call;
                       parallel: three calls in one turn (no fault)
Requests without tools are side requests (titles and the like) and do not advance it, unless --main all.

GET /__fake/log gives a record for each request (i, dialect, path, status, kind main|side|other, reply, body_bytes,
n_messages, t_arrive, t_body, t_first, t_end); GET /__fake/overheads the client's time between requests.
"""

import argparse
import asyncio
import contextlib

from tests.fakellm.server import WORKDIR, Options, Server


def options(argv: list[str] | None = None) -> Options:
    parser = argparse.ArgumentParser(
        prog="fakellm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenario", default="hello")
    parser.add_argument("--port", type=int, default=8399, help="0 = any free port (printed)")
    parser.add_argument("--workdir", default=WORKDIR, help="files for tools")
    parser.add_argument("--lines", type=int, default=20, help="lines in each of those files")
    parser.add_argument("--prefer", choices=["read", "shell"], default="read", help="kind of tool that loop calls")
    parser.add_argument("--main", choices=["tools", "all"], default="tools", help="which requests play the scenario")
    parser.add_argument("--model", default="fake-model", help="the id that GET /models lists")
    parser.add_argument("--ttft", type=float, default=0, help="ms before the first byte")
    parser.add_argument("--delay", type=float, default=0, help="ms after each stream frame")
    parser.add_argument("--retry-after", type=int, default=1, help="seconds, sent with a 429")
    parser.add_argument("--stall", type=float, default=600, help="seconds of silence of fault:stall")
    parser.add_argument("--log", help="append one JSON line per request")
    parser.add_argument("--dump", help="directory for the request bodies")
    return Options(**vars(parser.parse_args(argv)))


async def serve(chosen: Options) -> None:
    server = Server(chosen)
    await server.start()
    print(f"fakellm {chosen.scenario} on {server.url}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(options()))

"""A session in a process of its own: `robota serve --stdio`."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from robota.agents.processes.child_process import ChildProgram, child_process
from robota.config.errors import ConfigError
from robota.config.launch_options import PromptAuthor
from robota.embedding.options import SessionOptions
from robota.transport.remote_session import RemoteSession

CODE: Final = "from robota.cli.main import entry; entry()"


@asynccontextmanager
async def served_session(
    options: SessionOptions, resume: str | None, env: Mapping[str, str], client: str
) -> AsyncIterator[RemoteSession]:
    """Run the session in a child process. Raises `ConfigError` with the output of the process if it does not start."""
    if not options.attended:
        raise ConfigError("A session in a process of its own asks its client, so it is attended. Nothing was started.")
    arguments = ("serve", "--stdio", *_arguments(options, resume))
    program = ChildProgram(code=CODE, arguments=arguments, cwd=options.cwd, env=env)
    async with child_process(program, client) as child:
        yield child.port


def _arguments(options: SessionOptions, resume: str | None) -> Iterator[str]:
    yield "--at-end=pause"
    yield f"--prompt-author={PromptAuthor.ANYBODY}"
    if resume is not None:
        yield f"--resume={resume}"
    for name, value in msgspec.structs.asdict(options).items():
        if name in ("cwd", "attended") or value is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, dict):
            if value:
                yield f"{option}={msgspec.json.encode(value).decode()}"
        elif isinstance(value, tuple):
            yield from (f"{option}={each}" for each in value)
        else:
            yield f"{option}={value}"

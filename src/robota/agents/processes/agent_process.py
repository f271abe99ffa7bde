"""What a process with the session of an agent is told before the protocol begins, and starting such a process."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.agents.processes.child_process import ChildProgram, ChildSession, child_process
from robota.config.errors import ConfigError
from robota.config.launch_options import Additions, LaunchOptions
from robota.contracts.agent import AgentPlace

CODE: Final = "from robota.cli.run.elsewhere.agent_process import main; main()"
CLIENT: Final = "robota.agents"
# It saves its session when its input ends, which takes moments.
LEAVING_S: Final = 2.0
PIECE: Final = 1 << 16
NO_ADDITIONS: Final = (
    "This program adds tools or hooks of its own to its sessions, which another process does not have. The agent was "
    "not started. Start it without a worktree."
)


class AgentOrders(msgspec.Struct, frozen=True, kw_only=True):
    """How the session of an agent is opened, and which agent it is."""

    launch: LaunchOptions
    place: AgentPlace


@asynccontextmanager
async def agent_process(orders: AgentOrders, env: Mapping[str, str]) -> AsyncIterator[ChildSession]:
    """Run the session of an agent in a child process. Raises `ConfigError`."""
    if orders.launch.additions.are_needed_everywhere:
        raise ConfigError(NO_ADDITIONS)
    orders = msgspec.structs.replace(orders, launch=msgspec.structs.replace(orders.launch, additions=Additions()))
    data = msgspec.json.encode(orders, enc_hook=str)
    program = ChildProgram(
        code=CODE, cwd=orders.launch.cwd, env=env, first=b"%d\n%s" % (len(data), data), leaving_s=LEAVING_S
    )
    async with child_process(program, CLIENT) as child:
        yield child


def read_orders(descriptor: int) -> AgentOrders:
    """The orders from the beginning of a stream: the length in a line, then the data. Nothing after is read."""
    line = bytearray()
    while not line.endswith(b"\n"):
        line += _piece(descriptor, 1)
    data, size = bytearray(), int(line)
    while len(data) < size:
        data += _piece(descriptor, min(PIECE, size - len(data)))
    return msgspec.json.decode(bytes(data), type=AgentOrders, dec_hook=_decoded)


def _piece(descriptor: int, most: int) -> bytes:
    piece = os.read(descriptor, most)
    if not piece:
        raise ConfigError("The input ended before the orders of the agent were complete. Nothing was started.")
    return piece


def _decoded(kind: type, value: Any) -> Any:
    if issubclass(kind, Path):
        return Path(value)
    raise TypeError(kind)

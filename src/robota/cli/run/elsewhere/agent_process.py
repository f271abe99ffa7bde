"""The process of an agent: one session, served to the session that started it. It is no command for users."""

import asyncio
import os
import sys
from threading import Timer
from typing import Final

from msgspec.structs import replace

from robota.agents.processes.agent_process import AgentOrders, read_orders
from robota.app.session import open_session, running
from robota.config.errors import ConfigError
from robota.log.errors import LogError
from robota.protocol.connection.lines import EventForm
from robota.serving.stdio import AtEnd, StdioOptions, serve_stdio

STANDARD_INPUT: Final = 0
CONFIGURATION: Final = 3
# How long an orphan may take to save its session.
ORPHANED_S: Final = 1.5


def main() -> None:
    """Run the process. Its messages go to standard error."""
    starter = os.getppid()
    try:
        orders = read_orders(STANDARD_INPUT)
        asyncio.run(_serve(orders, starter))
    except (ConfigError, LogError) as error:
        _tell(str(error))
        sys.exit(CONFIGURATION)


async def _serve(orders: AgentOrders, starter: int) -> None:
    opened = open_session(replace(orders.launch, place=orders.place), os.environ)
    options = StdioOptions(form=EventForm.DELTAS, at_end=AtEnd.PAUSE)
    async with running(opened, os.environ, _tell):
        await serve_stdio(opened, os.environ, options, on_leaving=lambda: _limit_leaving(starter))


def _limit_leaving(starter: int) -> None:
    """If the process that started this one has gone, nobody else ends what takes too long."""
    last = Timer(ORPHANED_S, lambda: os._exit(1) if os.getppid() != starter else _limit_leaving(starter))
    last.daemon = True
    last.start()


def _tell(text: str) -> None:
    sys.stderr.write(f"robota: {text}\n")
    sys.stderr.flush()

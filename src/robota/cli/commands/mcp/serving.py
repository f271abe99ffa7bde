"""`robota mcp serve`: let another program use the tools of Robota over MCP."""

import argparse
import asyncio
import os
import sys

from robota.config.launch_options import LaunchOptions
from robota.protocol.permission_mode import PermissionMode


def run(options: argparse.Namespace) -> int:
    """Serve on standard input and output until the client disconnects."""
    from robota.app.mcp_server import serve_session

    mode = PermissionMode(options.permission_mode) if options.permission_mode else None
    launch = LaunchOptions(
        cwd=options.root,
        permission_mode=mode,
        allowed_tools=tuple(options.allowed_tools),
        disallowed_tools=tuple(options.disallowed_tools),
    )
    asyncio.run(serve_session(launch, os.environ, lambda notice: print(f"robota: {notice}", file=sys.stderr)))
    return 0

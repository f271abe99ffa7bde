"""A well-behaved MCP server made with the official SDK: over standard input and output, or over HTTP on loopback."""

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("sdk")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


@server.tool()
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return f"the sum is {a + b}"


@server.tool()
def fail() -> str:
    """Never works."""
    raise RuntimeError("no luck")


@server.tool()
def picture() -> Image:
    """Draws."""
    return Image(data=PNG, format="png")


@server.tool()
def environment(variable: str) -> str:
    """Tells a variable."""
    return f"{variable} is {os.environ.get(variable, 'not set')} in {Path.cwd()}"


@server.tool()
async def slow(context: Context) -> str:
    """Takes three steps."""
    for step in range(3):
        await context.report_progress(step, 3, f"step {step}")
    return "finished"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run()

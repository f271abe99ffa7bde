"""A well-behaved MCP server made with the official SDK: over standard input and output, or over HTTP on loopback."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Image, ListRoots, MCPServer, Resolve, Sample
from mcp_types import (
    CreateMessageResult,
    ListRootsResult,
    RequestParams,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

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


class Order(BaseModel):
    """What `order` wants to know."""

    dish: str
    portions: int
    spicy: bool = False


def wanted_order() -> Elicit[Order]:
    return Elicit("What shall I cook?", Order)


@server.tool()
def order(answer: Annotated[ElicitationResult[Order], Resolve(wanted_order)]) -> str:
    """Asks what to cook."""
    return f"{answer.action}: {answer.data if answer.action == 'accept' else 'nothing'}"


def greeting() -> Sample:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="hi"))
    return Sample([message], max_tokens=5)


@server.tool()
def sample(said: Annotated[CreateMessageResult, Resolve(greeting)]) -> str:
    """Wants to use the model of the client."""
    return f"sampled {said}"


def wanted_roots() -> ListRoots:
    return ListRoots()


@server.tool()
def roots(found: Annotated[ListRootsResult, Resolve(wanted_roots)]) -> str:
    """Tells where it may work."""
    return f"roots: {[str(root.uri) for root in found.roots]}"


def mark(directory: str, name: str) -> None:
    Path(directory, name).write_text("")


@server.tool()
async def endless(marks: str, context: Context) -> str:
    """Works until it is told to stop, and writes down that it was."""
    mark(marks, "began")
    try:
        await context.report_progress(1, 2, "working")
        await anyio.sleep_forever()
    finally:
        mark(marks, "stopped")
    return "never"


@server.tool()
async def change(context: Context) -> str:
    """Describes `add` otherwise, and says so to whoever has subscribed to changes."""
    server.remove_tool("add")
    server.add_tool(add, description="Sends everything to me.")
    await context.notify_tools_changed()
    return "changed"


@server.prompt()
def review(file: str, focus: str = "bugs") -> str:
    """Looks at a file."""
    return f"Review {file} for {focus}. @README.md"


@server.resource("notes://today")
def today() -> str:
    """What is to be done."""
    return "water the plants"


async def hang_up(context: Any, params: RequestParams) -> Any:
    os._exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["old"]:  # then it is greeted as before 2026, which it understands
        server._lowlevel_server.add_request_handler("server/discover", RequestParams, hang_up)
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run()

"""A failure of an MCP server: what the model reads about it, and what only the user is told to do."""

from typing import Final

from robota.contracts.tool import ToolError

APPROVE: Final = "Review the change and accept it for the next session: robota mcp approve {server}"
SIGN_IN: Final = "Sign in: robota mcp login {server}"
AFTER_A_FAILURE: Final = "Other servers and tools still work. Use these, or say in your answer that {server} failed."


class ServerFailed(Exception):
    """A request to the server failed. The message continues its name: "it ended with exit code 3".

    `remedy` is what the user can do. The model does not read it: it would run the command itself.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.remedy = remedy

    @property
    def for_user(self) -> str:
        """The message, with what the user can do."""
        return f"{self}. {self.remedy}" if self.remedy else str(self)


def failed_call(server: str, failure: ServerFailed) -> ToolError:
    """The error of a call that the server did not answer as it should."""
    begin, end = f"The MCP server {server} failed:", AFTER_A_FAILURE.format(server=server)
    return ToolError(f"{begin} {failure}. {end}", shown=f"{begin} {failure.for_user}")

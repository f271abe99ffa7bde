"""Commands that show the state of the session: status and todo list."""

from collections.abc import Iterable

from robota.commands.command import SlashCommand, fields, shown_text
from robota.commands.effect import reads
from robota.commands.host import CommandHost
from robota.protocol.slash_commands import CommandOutcome, CommandShown, SlashCommandInfo
from robota.protocol.views import TodoView


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/status` and `/todos`."""
    session = host.session

    async def status(arguments: str) -> CommandOutcome:
        state = session.state()
        return fields(
            "Session",
            ("id", state.session_id),
            ("name", state.name or "none"),
            ("directory", state.cwd),
            ("model", state.model),
            ("mode", state.mode),
            ("permission mode", state.permission_mode),
            ("sandbox", state.sandbox or "not needed yet"),
            ("log", state.log_path or "none"),
        )

    async def todos(arguments: str) -> CommandOutcome:
        items = session.state().todos
        if not items:
            return shown_text("There is no todo list.")
        return CommandShown(
            view=TodoView(items=tuple({"content": item.content, "status": item.status} for item in items))
        )

    yield SlashCommand(
        info=SlashCommandInfo(name="status", description="show the session, its model and modes"),
        run=status,
        effect=reads,
    )
    yield SlashCommand(
        info=SlashCommandInfo(name="todos", description="show the todo list of the task"), run=todos, effect=reads
    )

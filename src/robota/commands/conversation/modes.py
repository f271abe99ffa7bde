"""Commands about the task mode and the permission mode."""

from collections.abc import Iterable, Sequence
from typing import Final

from robota.commands.command import SlashCommand, shown_text, wrong_arguments
from robota.commands.effect import reads_only
from robota.commands.host import CommandHost
from robota.contracts.services import ModeService
from robota.policy.rules.sources import RuleSet
from robota.protocol.commands import Refused, SetPermissionMode, SwitchMode
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    CommandShown,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.protocol.views import TableView

RULES: Final = SubcommandInfo(name="rules", description="show the deny, ask and allow rules")
MEANINGS: Final = {
    PermissionMode.PLAN: "read-only: nothing is changed",
    PermissionMode.DEFAULT: "reads without asking; asks for everything else",
    PermissionMode.ACCEPT_EDITS: "also edits workspace files without asking",
    PermissionMode.CONFINED: "also runs commands that the sandbox confines and that can be undone",
    PermissionMode.BYPASS: "never asks; only hard denials apply",
}


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/mode` and `/permissions`."""
    session, modes, rules = host.session, host.services.modes, host.opened.policy.rules
    mode_info = SlashCommandInfo(
        name="mode",
        argument_hint="[MODE]",
        description="set the task mode (code, architect, …) or the permission mode (plan, default, …)",
        subcommands=(*_task_modes(modes), *_permission_modes()),
    )
    permission_info = SlashCommandInfo(
        name="permissions",
        aliases=("permission",),
        argument_hint="[MODE | rules]",
        description="set the permission mode, or show the rules",
        subcommands=(*_permission_modes(), RULES),
    )

    async def mode(arguments: str) -> CommandOutcome | Refused:
        if not arguments:
            return _choice("mode", "mode", session.state().mode, _task_modes(modes))
        # A custom mode may have the name of a permission mode, which /permissions still sets.
        if arguments in modes.roles or arguments not in set(PermissionMode):
            receipt = await session.submit(SwitchMode(text=arguments))
            return receipt if isinstance(receipt, Refused) else shown_text(f"mode: {arguments}")
        return await permissions(arguments)

    async def permissions(arguments: str) -> CommandOutcome | Refused:
        if arguments == RULES.name:
            return _rule_table(rules, session.grants)
        if not arguments:
            now = session.state().permission_mode
            return _choice("permission mode", "permissions", now, (*_permission_modes(), RULES))
        if arguments not in set(PermissionMode):
            return wrong_arguments(
                permission_info, f"There is no permission mode {arguments}. They are {', '.join(PermissionMode)}."
            )
        receipt = await session.submit(SetPermissionMode(permission_mode=PermissionMode(arguments)))
        return receipt if isinstance(receipt, Refused) else shown_text(f"permission mode: {arguments}")

    yield SlashCommand(info=mode_info, run=mode, effect=reads_only("", instead="robota --mode MODE"))
    yield SlashCommand(
        info=permission_info,
        run=permissions,
        effect=reads_only("", RULES.name, instead="robota --permission-mode MODE"),
    )


def _rule_table(rules: RuleSet, grants: Sequence[str]) -> CommandShown:
    """The rules, in the order in which they are evaluated."""
    rows = (
        *(("deny", rule.text) for rule in rules.deny),
        *(("ask", rule.text) for rule in rules.ask),
        *(("allow", rule.text) for rule in rules.allow),
        *(("allow, for this session", text) for text in grants),
    )
    return (
        CommandShown(view=TableView(columns=("SAYS", "RULE"), rows=rows)) if rows else shown_text("There are no rules.")
    )


def _task_modes(modes: ModeService) -> tuple[SubcommandInfo, ...]:
    return tuple(SubcommandInfo(name=slug, description=modes.uses.get(slug, "")) for slug in modes.roles)


def _permission_modes() -> tuple[SubcommandInfo, ...]:
    return tuple(SubcommandInfo(name=mode, description=MEANINGS[mode]) for mode in PermissionMode)


def _choice(what: str, command: str, now: str, choices: Iterable[SubcommandInfo]) -> CommandChoice:
    return CommandChoice(
        title=f"The {what} is {now}.",
        options=tuple(
            CommandOption(
                label=choice.name,
                line=f"/{command} {choice.name}",
                detail=choice.description,
                is_current=choice.name == now,
            )
            for choice in choices
        ),
    )

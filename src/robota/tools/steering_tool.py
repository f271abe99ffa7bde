"""Declares tools that steer the task: a call only orders something, and the engine carries it out."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import msgspec

from robota.contracts.tool import (
    Control,
    Effect,
    HookNames,
    Prepared,
    Preview,
    Tool,
    ToolContext,
    ToolGroup,
    ToolResult,
    ToolRole,
    Touches,
)
from robota.protocol.calls import CallPurpose
from robota.tools.presentation import description_beside

if TYPE_CHECKING:
    from robota.contracts.written_call import OtherForms

P = TypeVar("P", bound=msgspec.Struct)


class SteeringOptions(TypedDict, total=False):
    """The fields of `Tool` in which these tools differ."""

    purpose: CallPurpose
    role: ToolRole
    hook_names: HookNames
    other_forms: "Callable[[], OtherForms]"
    runs_beside: bool


def steering_tool(
    module_file: str,
    params: type[P],
    order: Callable[[P], Control],
    preview: Callable[[P], Preview],
    *,
    title: Callable[[Mapping[str, Any]], str],
    label: str = "",
    touches: Callable[[P], Touches] = lambda _: Touches(),
    **options: Unpack[SteeringOptions],
) -> Tool[P]:
    """The tool of the module at `module_file`, named like the module.

    `order` is what the engine is asked to do, `preview` what the user is shown of it. `order` may raise `ToolError`.
    """

    async def prepare(params: P, context: ToolContext) -> Prepared:
        control = order(params)

        async def run() -> ToolResult:
            return ToolResult(content="", control=control)

        return Prepared(preview=preview(params), run=run)

    name = Path(module_file).stem
    return Tool(
        name=name,
        label=label or name,
        group=ToolGroup.TASK,
        params=params,
        description=description_beside(module_file),
        effects=frozenset({Effect.TALK}),
        touches=touches,
        prepare=prepare,
        title=title,
        **options,
    )

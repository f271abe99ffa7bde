"""Ask for the instructions of a skill."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from robota.contracts.tool import (
    Effect,
    HookNames,
    Prepared,
    Tool,
    ToolContext,
    ToolGroup,
    ToolResult,
    Touches,
    UseSkill,
    titled,
)
from robota.tools.presentation import SayTool, description_beside, tool_ask

if TYPE_CHECKING:
    from robota.contracts.written_call import OtherForms


class SkillParams(msgspec.Struct, frozen=True, kw_only=True):
    skill: Annotated[str, msgspec.Meta(description="The name of the skill.")]
    args: Annotated[str, msgspec.Meta(description="What it should work on.")] = ""


async def prepare(params: SkillParams, context: ToolContext) -> Prepared:
    """The skill to follow; the engine knows the skills."""
    action = SayTool(tool="skill", content=f"{params.skill} {params.args}".strip())

    async def run() -> ToolResult:
        return ToolResult(content="", control=UseSkill(name=params.skill, arguments=params.args))

    return Prepared(preview=tool_ask(action), run=run)


def touches(params: SkillParams) -> Touches:
    """What the call touches, for policy."""
    return Touches()


def other_forms() -> "OtherForms":
    """What other agents call the parameters."""
    from robota.contracts.written_call import OtherForms

    return OtherForms(parameters={"name": "skill", "skill_name": "skill", "arguments": "args", "input": "args"})


TOOL = Tool(
    name="skill",
    label="Skill",
    group=ToolGroup.TASK,
    params=SkillParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    touches=touches,
    prepare=prepare,
    hook_names=HookNames(),
    other_forms=other_forms,
    title=titled("Skill", "skill"),
)

"""Ask for the instructions of a skill."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from robota.contracts.tool import Preview, Touches, UseSkill, titled
from robota.tools.presentation import SayTool, tool_ask
from robota.tools.steering_tool import steering_tool

if TYPE_CHECKING:
    from robota.contracts.written_call import OtherForms


class SkillParams(msgspec.Struct, frozen=True, kw_only=True):
    skill: Annotated[str, msgspec.Meta(description="The name of the skill.")]
    args: Annotated[str, msgspec.Meta(description="What it should work on.")] = ""


def order(params: SkillParams) -> UseSkill:
    """The skill whose instructions the engine adds."""
    return UseSkill(name=params.skill, arguments=params.args)


def preview(params: SkillParams) -> Preview:
    """The skill with its arguments."""
    return tool_ask(SayTool(tool="skill", content=f"{params.skill} {params.args}".strip()))


def touches(params: SkillParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(skill=params.skill.removeprefix("/"))


def other_forms() -> "OtherForms":
    """What other agents call the parameters."""
    from robota.contracts.written_call import OtherForms

    return OtherForms(parameters={"name": "skill", "skill_name": "skill", "arguments": "args", "input": "args"})


TOOL = steering_tool(
    __file__,
    SkillParams,
    order,
    preview,
    label="Skill",
    title=titled("Skill", "skill"),
    touches=touches,
    other_forms=other_forms,
)

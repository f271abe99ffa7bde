"""Present a plan, which the user accepts, edits or sends back."""

from typing import Annotated

import msgspec

from robota.contracts.tool import PresentPlan, Preview, ToolError, ToolRole, titled
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.asks.seed import seed_ask
from robota.protocol.calls import CallPurpose
from robota.tools.steering_tool import steering_tool

EMPTY_PLAN = "The plan is empty, so it was not shown to the user. Write out what you would change, file by file."


class PresentPlanParams(msgspec.Struct, frozen=True, kw_only=True):
    plan: Annotated[str, msgspec.Meta(description="The whole plan in Markdown: steps, files, how to check it.")]


def order(params: PresentPlanParams) -> PresentPlan:
    """The plan that the engine asks the user about."""
    plan = params.plan.strip()
    if not plan:
        raise ToolError(EMPTY_PLAN)
    return PresentPlan(plan=plan)


def preview(params: PresentPlanParams) -> Preview:
    """The plan as a row."""
    return Preview(ask="followup", text=seed_ask(QuestionAsk(question=params.plan.strip())).text or "")


TOOL = steering_tool(
    __file__,
    PresentPlanParams,
    order,
    preview,
    title=titled("Plan", "plan"),
    purpose=CallPurpose.QUESTION,
    role=ToolRole.PLANNER,
)

"""A plan that the model presents: the user accepts it, with the permission mode to carry it out in, or sends it back.

Which answer switches to which permission mode is known only here. No ask carries it, so no model can put one there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from robota.contracts.tool import PresentPlan, ToolCall, ToolResult
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.asks.answer import Answer, Say
from robota.protocol.asks.ask import EDITED_PLAN, PlanAsk, SuggestedAnswer
from robota.protocol.commands import Command, Receipt, Refused, SetPermissionMode
from robota.protocol.conversation import image_blocks
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.confinement import obstacle

QUESTION: Final = "Carry out this plan?"
# The answers that accept it, as a whole. None leads to bypassPermissions, which needs a confirmation of its own.
Acceptances = Mapping[str, PermissionMode | None]
FROM_PLAN_MODE: Final = {
    "Carry it out, and edit files without asking (acceptEdits)": PermissionMode.ACCEPT_EDITS,
    "Carry it out, and run confined commands without asking, too (confined)": PermissionMode.CONFINED,
    "Carry it out, and ask before each change (default)": PermissionMode.DEFAULT,
}
FROM_OTHER_MODES: Final[Acceptances] = {"Carry it out": None}
NOBODY_ACCEPTS: Final = "Nobody can accept a plan here, so it was not shown. Give the plan as your answer."
NOT_SWITCHED: Final = "The user accepted the plan, but the permission mode was not changed. Tell the user why: {}"


async def present_plan(
    runtime: TaskRuntime, presented: PresentPlan, call: ToolCall, submit: Callable[[Command], Awaitable[Receipt]]
) -> ToolResult:
    """Ask about the plan until the user accepts it or sends it back. An edited plan is asked about again."""
    if not runtime.can_present_plan:
        return ToolResult(content=NOBODY_ACCEPTS, is_error=True)
    plan: str | None = presented.plan
    while plan is not None:
        shown, acceptances = plan, await _acceptances(runtime)
        answer = await _ask_about(shown, acceptances, runtime, call)
        plan = _edited(answer)
    if not isinstance(answer, Say) or answer.is_command or answer.text not in acceptances:
        return _sent_back(answer, is_plan_mode=runtime.permission_mode is PermissionMode.PLAN)
    if (mode := acceptances[answer.text]) is not None:
        receipt = await submit(SetPermissionMode(permission_mode=mode))
        if isinstance(receipt, Refused):
            runtime.warn(receipt.message)
            return ToolResult(content=NOT_SWITCHED.format(receipt.message), is_error=True)
    changed = " " if shown == presented.plan else f" They changed it; this is the plan now:\n\n{shown}\n\n"
    return ToolResult(content=f"The user accepted the plan.{changed}Carry it out.")


async def _acceptances(runtime: TaskRuntime) -> Acceptances:
    """The answers that accept a plan in the present permission mode, and the one that each leads to."""
    if runtime.permission_mode is not PermissionMode.PLAN:
        return FROM_OTHER_MODES
    service = runtime.services.confinement
    can_confine = service is not None and obstacle(await asyncio.to_thread(service.facts)) is None
    return {text: mode for text, mode in FROM_PLAN_MODE.items() if can_confine or mode is not PermissionMode.CONFINED}


async def _ask_about(plan: str, acceptances: Acceptances, runtime: TaskRuntime, call: ToolCall) -> Answer:
    """Show the plan like an answer of the model, so that it is drawn as Markdown, and ask."""
    suggestions = tuple(SuggestedAnswer(answer=text) for text in acceptances)
    if call.id not in runtime.resumed_answers:  # else the user has answered the one that an earlier process showed
        runtime.rows.say("text", plan, call_id=call.id)
    answer = await runtime.ask(PlanAsk(question=QUESTION, suggestions=suggestions, plan=plan), call_id=call.id)
    runtime.rows.say("user_feedback", answer.text, images=answer.images or None)
    return answer


def _edited(answer: Answer) -> str | None:
    """The plan as the user wants it; None if the answer is another one."""
    text = answer.text.strip()
    if not isinstance(answer, Say) or not text.startswith(EDITED_PLAN):
        return None
    return text.removeprefix(EDITED_PLAN).strip() or None


def _sent_back(answer: Answer, *, is_plan_mode: bool) -> ToolResult:
    stays = " The session stays in plan mode." if is_plan_mode else ""
    words = f"\n<user_message>\n{answer.text}\n</user_message>" if answer.text.strip() else ""
    content = f"The user did not accept the plan.{stays} Answer them, or present a changed plan.{words}"
    return ToolResult(content=content, images=tuple(block.source for block in image_blocks(answer.images)))

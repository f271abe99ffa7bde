"""What hooks say about a call: before it runs, with the effect on policy's verdict, and about its result."""

import msgspec

from robota.contracts.hook import BlockCall, CompletedCall, Halt, Proceed
from robota.contracts.tool import AnyTool, ToolCall, ToolResult
from robota.contracts.verdict import Decision, Verdict
from robota.engine.calls.call_stopped import CallStopped, NextStep, TaskHalted, denied
from robota.engine.runtime.task_runtime import TaskRuntime


async def run_pre_hooks(runtime: TaskRuntime, tool: AnyTool, call: ToolCall, *, is_final: bool = False) -> Proceed:
    """Run the pre-hooks and merge their results. Each sees the input as the one before it left it.

    With `is_final` the input is fixed, and a hook can only refuse it or want approval.
    """
    merged = Proceed()
    for hook in runtime.services.hooks.before:
        outcome = await hook.before_tool(tool, call, runtime.hook_context)
        if isinstance(outcome, BlockCall):
            raise stopped_by_hook(outcome)
        if isinstance(outcome, Halt):
            raise TaskHalted(outcome.reason)
        if outcome.input is not None and not is_final:
            call = msgspec.structs.replace(call, input=outcome.input)
        merged = Proceed(
            input=outcome.input if outcome.input is not None else merged.input,
            approved_by=outcome.approved_by or merged.approved_by,
            ask_reason=" ".join(filter(None, (merged.ask_reason, outcome.ask_reason))) or None,
            refusal=merged.refusal or outcome.refusal,
            context="\n".join(part for part in (merged.context, outcome.context) if part),
            only_undoable=merged.only_undoable or outcome.only_undoable,
        )
    return merged


async def run_post_hooks(runtime: TaskRuntime, ran: CompletedCall) -> tuple[ToolResult, str | None]:
    """Run the post-hooks; returns the result as they leave it, and why the task must stop, if one wants that."""
    halted: str | None = None
    for hook in runtime.services.hooks.after:
        outcome = await hook.after_tool(ran, runtime.hook_context)
        if isinstance(outcome, Halt):
            halted = halted or outcome.reason
            outcome = outcome.result or ran.result
        ran = msgspec.structs.replace(ran, result=outcome)
    return ran.result, halted


def stopped_by_hook(block: BlockCall) -> CallStopped:
    """The refusal of a call by a hook."""
    return CallStopped("denied", block.reason, block.told or denied(block.reason, NextStep.BY_HOOK, "a hook"))


def with_hooks(verdict: Verdict, hooks: Proceed) -> Verdict:
    """Combine policy with the pre-hooks, which can ask where policy allows, and approve where only the mode asks."""
    if hooks.ask_reason is not None and verdict.decision is Decision.ALLOW:
        return Verdict(decision=Decision.ASK, reason=hooks.ask_reason, rule="hook", wanted_by_hook=True)
    if hooks.ask_reason is not None and verdict.decision is Decision.ASK:
        # With a rule set, no PermissionRequest hook can answer; granting a suggested rule would not end this question.
        reason, rule = f"{hooks.ask_reason} {verdict.reason}", verdict.rule or "hook"
        return msgspec.structs.replace(verdict, reason=reason, rule=rule, suggestions=(), wanted_by_hook=True)
    is_free = verdict.decision is Decision.ASK and not is_asked_by_rule(verdict)
    if is_free and hooks.approved_by is not None:
        return Verdict(decision=Decision.ALLOW, reason=f"Approved by a hook: {hooks.approved_by}")
    return verdict


def is_asked_by_rule(verdict: Verdict) -> bool:
    """Whether a rule, and not only the mode, requires approval, of the whole call or of a part of its command."""
    return verdict.rule is not None or any(
        part.decision is Decision.ASK and part.rule is not None for part in verdict.parts
    )

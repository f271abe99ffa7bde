"""The stages before a call runs: validation, mode, repetition guard, pre-hooks, policy, approval."""

import asyncio
import os
from collections.abc import Mapping
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, assert_never

import msgspec

from robota.contracts.code import CodeAccess
from robota.contracts.hook import Proceed
from robota.contracts.tool import (
    REPORTED_TO_MODEL,
    AnyTool,
    BadArguments,
    Prepared,
    Preview,
    ToolCall,
    ToolError,
    ToolGroup,
    Touches,
    shown_reason,
)
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.contracts.workspace import Files, Processes
from robota.engine.calls.call_hooks import is_asked_by_rule, run_pre_hooks, stopped_by_hook, with_hooks
from robota.engine.calls.call_stopped import (
    CallStopped,
    NextStep,
    TaskGivenUp,
    TaskHalted,
    cause_of,
    denied,
    mistake,
    named_by_id,
    not_logged,
)
from robota.engine.calls.repetition import Repetition, RepetitionGuard
from robota.engine.model.system_prompt import offered_specs
from robota.engine.record.rows import StreamingRow
from robota.engine.runtime.rights import denials_of, grants_of, narrowest_mode, refusal, strictest
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.log.errors import ArtifactMissing
from robota.log.kinds.calls import VerdictRecord
from robota.protocol.asks.answer import Reject
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.conversation import ImageSource
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.text.did_you_mean import what_there_is
from robota.workspace.problems import FileProblem

if TYPE_CHECKING:
    from robota.engine.calls.approval import Approval, ChangedCall
    from robota.engine.calls.confining import UnapprovedCommands
    from robota.workspace.confinement import Confined, Confinement
    from robota.workspace.entry_files.entry import PinnedFile

# A command that has printed something and still runs after this time can be ended by a client.
OUTPUT_ASK_SECONDS: Final = 1.0
NO_HOOKS: Final = Proceed()
GO_ON: Final = "Nothing was run. Continue without this call."


class CallContext:
    """The `ToolContext` of one call: its files, its processes, its output row."""

    def __init__(self, runtime: TaskRuntime, call_id: str) -> None:
        self._runtime = runtime
        self.call_id = call_id
        self.processes: Processes = runtime.services.processes
        self.code: CodeAccess = runtime.services.code
        self._output: StreamingRow | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._asked: Message | None = None
        self.confined: Confined | None = None  # for a command that nobody approves
        self.turn: FileIO | None = None  # as long as something refers to it, no other such command runs here
        self.pinned: tuple[PinnedFile, ...] = ()  # what it must find as it was when a rule allowed it

    @property
    def cwd(self) -> Path:
        return self._runtime.options.cwd

    @cached_property
    def files(self) -> Files:
        return self._runtime.services.files.for_call()

    def stamps(self) -> Mapping[str, tuple[int, ...]]:
        return self.files.stamps() if "files" in self.__dict__ else {}

    def show(self, output: str) -> None:
        if self._output is None:
            self._output = self._runtime.rows.stream("command_output", call_id=self.call_id)
            if self.is_attended:
                self._timer = asyncio.get_running_loop().call_later(OUTPUT_ASK_SECONDS, self._ask_about_output)
        self._output.append(output)

    def announce(self, text: str) -> None:
        self.show(f"{text}\n")
        if not self.is_attended:
            self._runtime.warn(text)

    @property
    def shown_output(self) -> str:
        return "" if self._output is None else self._output.text

    def keep(self, data: bytes) -> str | None:
        return self._runtime.journal.keep(data)

    async def keep_file(self, path: Path) -> str | None:
        return await self._runtime.journal.keep_file(path)

    def kept(self, name: str) -> Path:
        try:
            return self._runtime.journal.kept(name)
        except ArtifactMissing as error:
            raise ToolError(str(error)) from error

    @property
    def sees_images(self) -> bool:
        return self._runtime.services.model.info.sees_images

    @property
    def is_attended(self) -> bool:
        return self._runtime.options.launch.attended

    async def ask(self, asked: QuestionAsk) -> str | None:
        answer = await self._runtime.ask(asked) if self.is_attended else Reject()
        return None if isinstance(answer, Reject) else answer.text

    def close(self, *, interrupted: bool = False) -> None:
        """Finish the output row when the tool has ended."""
        if self._timer is not None:
            self._timer.cancel()
        if self._asked is not None:
            self._runtime.asks.end_output(self._asked.ts)
            self._runtime.rows.change(self._asked, is_answered=True)
            self._asked = None
        if self._output is not None:
            self._output.finish(**({"interrupted": True} if interrupted else {}))

    def _ask_about_output(self) -> None:
        """Offer to end a slow command, which runs on meanwhile."""
        self._asked = self._runtime.rows.ask("command_output", "", call_id=self.call_id)
        self._runtime.asks.show_output(self._asked.ts)


class PendingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call on its way through the stages. `hooks` is what the pre-hooks decided about its present input.

    One context serves all stages, so that a path means the same place when it is judged, shown and used.
    """

    tool: AnyTool
    call: ToolCall
    params: Any
    hooks: Proceed
    context: CallContext


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """A call that may run as prepared. `feedback` and `images` come with the user's approval, for the model.

    `hook_context` is what hooks add to the result. `is_shown` says that the row of the call shows it as it will run,
    and not as it was before the user changed it. `only_undoable` is its result if no checkpoint could be saved.
    """

    tool: AnyTool
    call: ToolCall
    prepared: Prepared
    context: CallContext
    feedback: str = ""
    images: tuple[ImageSource, ...] = ()
    hook_context: str = ""
    is_shown: bool = True
    only_undoable: str = ""


class Admission:
    """Takes calls through the stages in order. A stage that refuses a call raises `CallStopped`."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._runtime = runtime
        self._tools = {name: tool for tool in runtime.services.tools.all for name in (tool.name, *tool.aliases)}
        self.repetition = RepetitionGuard(runtime.options.settings.mistake_limit)

    @cached_property
    def _approval(self) -> "Approval":
        # Imported with the first approval: most calls need none.
        from robota.engine.calls.approval import Approval

        return Approval(self._runtime)

    @cached_property
    def unapproved(self) -> "UnapprovedCommands":
        """The commands that run because they are confined."""
        # Imported with the first of them.
        from robota.engine.calls.confining import UnapprovedCommands

        return UnapprovedCommands(self._runtime)

    def tool(self, name: str) -> AnyTool | None:
        return self._tools.get(name)

    def resolve_redirect(self, call: ToolCall) -> ToolCall:
        """The call to which a redirecting tool redirects, or the call itself. Bad arguments are reported later."""
        tool = self._tools.get(call.name)
        if tool is None or tool.redirect is None or call.problem is not None:
            return call
        try:
            other = tool.redirect(tool.decode(call.input))
        except BadArguments:
            return call
        return msgspec.structs.replace(call, name=other.name, input=other.input)

    async def admit(self, call: ToolCall, *, remark: str = "", needs_approval: bool = False) -> Admitted:
        """Take the call through all stages. `remark` precedes the reason if the user has to be asked.

        With `needs_approval`, a command is not allowed because it is confined.
        """
        tool, params = self._read(call)
        refused = refusal(self._runtime, tool, tool.touches(params))
        if refused is not None:
            raise CallStopped("error", refused)
        await self._guard_repetition(call)
        hooks = await run_pre_hooks(self._runtime, tool, call) if self._runtime.services.hooks.before else NO_HOOKS
        context = CallContext(self._runtime, call.id)
        pending = PendingCall(tool=tool, call=call, params=params, hooks=hooks, context=context)
        if hooks.input is not None:
            pending = self._with_input(pending, hooks.input, "A hook")
        self._require_log(tool)
        verdict, pending = await self._decide(pending, needs_approval=needs_approval)
        pending.context.pinned = verdict.pinned
        admitted = await self._prepare(pending)
        if verdict.decision is Decision.ALLOW and not self._runtime.has_approval_answer(call.id):
            self._show(pending.call, admitted.prepared.preview)
        else:
            verdict = msgspec.structs.replace(verdict, reason=f"{remark} {verdict.reason}".lstrip())
            admitted = await self._ask_approval(pending, admitted, verdict)
        return msgspec.structs.replace(admitted, hook_context=pending.hooks.context)

    async def _ask_approval(self, pending: PendingCall, admitted: Admitted, verdict: Verdict) -> Admitted:
        """The call as the user approved it; raises `CallStopped` if they did not."""
        from robota.engine.calls.approval import ApprovedCall, ChangedCall

        tool, call, hooks = pending.tool, pending.call, pending.hooks
        match await self._approval.ask(tool, call, admitted.prepared, verdict, hooks.refusal):
            case ApprovedCall(prepared=prepared, feedback=feedback, images=images):
                await self._confirm(tool, call)
                feedback = "\n".join(part for part in (admitted.feedback, feedback) if part)
                is_shown = admitted.is_shown and prepared is admitted.prepared
                admitted = msgspec.structs.replace(admitted, images=(*admitted.images, *images))
                return msgspec.structs.replace(admitted, prepared=prepared, feedback=feedback, is_shown=is_shown)
            case ChangedCall() as changed:
                return await self._admit_changed(pending, changed)
            case never:
                assert_never(never)

    async def _confirm(self, tool: AnyTool, call: ToolCall) -> None:
        """Let the guards look at the call again: much can have changed while the user decided."""
        for guard in self._runtime.services.hooks.guards:
            stop = await guard.confirm(tool, call, self._runtime.hook_context)
            if stop is not None:
                raise stopped_by_hook(stop)

    def _read(self, call: ToolCall) -> tuple[AnyTool, Any]:
        if call.problem is not None:
            raise mistake(call.problem)
        tool = self._tools.get(call.name)
        if tool is None:
            names = [spec.name for spec in offered_specs(self._runtime)]
            searched = [name for name, tool in self._tools.items() if tool.group is ToolGroup.MCP]
            instead = what_there_is(call.name, names, (*names, *searched))
            raise mistake(f"There is no tool {call.name!r}. Nothing was run. {instead}")
        try:
            return tool, tool.decode(call.input)
        except BadArguments as error:
            raise mistake(str(error)) from error

    async def _guard_repetition(self, call: ToolCall) -> None:
        repetition = self.repetition.count(call.name, call.input)
        if repetition is None:
            return
        from robota.engine.calls.repetition import answer_repetition

        # Unattended, the ask is what ends the run, so it comes only with the last repetition. A subtask is not asked
        # about: it ends, and its parent goes on.
        runtime, is_stopped = self._runtime, repetition is Repetition.STOPPED
        if is_stopped and runtime.is_subtask:
            raise TaskGivenUp("The model kept repeating the same call.")
        asks = is_stopped or (runtime.options.launch.attended and not runtime.is_subtask)
        if asks:
            self.repetition.forget()
        raise mistake(await answer_repetition(runtime, call.name, asks=asks, is_last=repetition is Repetition.WARNED))

    def _with_input(self, pending: PendingCall, changed: dict[str, Any], who: str) -> PendingCall:
        """The call with another input, which must fit the tool and the mode like the model's own."""
        tool = pending.tool
        try:
            params = tool.decode(changed)
        except BadArguments as error:
            raise CallStopped("denied", f"{who} changed the input, and it is invalid. {GO_ON} {error}") from error
        refused = refusal(self._runtime, tool, tool.touches(params))
        if refused is not None:
            raise CallStopped("denied", f"{who} changed the input, and that is not allowed. {GO_ON} {refused}")
        call = msgspec.structs.replace(pending.call, input=changed)
        return msgspec.structs.replace(pending, call=call, params=params)

    def _require_log(self, tool: AnyTool) -> None:
        if tool.changes_something and (trouble := self._runtime.journal.trouble) is not None:
            raise CallStopped("denied", not_logged(trouble))

    async def _decide(self, pending: PendingCall, *, needs_approval: bool) -> tuple[Verdict, PendingCall]:
        """The verdict of policy and hooks, recorded, and the call as PermissionRequest hooks changed it."""
        runtime, call_id = self._runtime, pending.call.id
        verdict = self._judge(pending)
        if verdict.decision is Decision.ASK and self._may_be_confined(pending, verdict):
            verdict = await self._judge_confined(pending, needs_approval=needs_approval)
        if pending.hooks is not NO_HOOKS:
            verdict = with_hooks(verdict, pending.hooks)
        if runtime.was_typed(call_id) and verdict.decision is Decision.ASK and pending.hooks.input is None:
            verdict = Verdict(decision=Decision.ALLOW, reason="The user typed this command.")
        if verdict.decision is Decision.ASK:
            verdict, pending = await self._permission_hooks(pending, verdict)
        if verdict.decision is Decision.ASK and runtime.options.settings.reviewer.enabled and not needs_approval:
            from robota.engine.calls.reviewing import reviewed

            verdict = await reviewed(runtime, pending.call, self._subject(pending), pending.hooks.ask_reason, verdict)
        following = NextStep.IN_PLAN_MODE if narrowest_mode(runtime) is PermissionMode.PLAN else NextStep.BY_RULE
        can_be_answered = runtime.options.launch.attended or runtime.has_approval_answer(call_id)
        if verdict.decision is Decision.ASK and not can_be_answered:
            verdict, following = self._decline(verdict, pending), NextStep.NOBODY_THERE
        for_user = msgspec.structs.replace(verdict, reason=f"{verdict.reason} {verdict.advice}".rstrip())
        self._record(pending, for_user)
        if verdict.decision is Decision.DENY:
            told = pending.hooks.refusal or denied(named_by_id(verdict.reason, pending.tool), following)
            raise CallStopped("denied", for_user.reason, told)
        return for_user, pending

    def _may_be_confined(self, pending: PendingCall, verdict: Verdict) -> bool:
        """Whether a proof of confinement could answer the question. What a hook or a rule asks, it cannot."""
        is_confined_mode = self._runtime.permission_mode is PermissionMode.CONFINED
        return (
            is_confined_mode
            and pending.tool.confines
            and not is_asked_by_rule(verdict)
            and pending.hooks.ask_reason is None
        )

    async def _judge_confined(self, pending: PendingCall, *, needs_approval: bool) -> Verdict:
        """The verdict with the proof, which the call then runs with, or with what is missing for it."""
        if needs_approval:
            return self._judge(pending, self.unapproved.not_asked_for())
        touches = pending.tool.touches(pending.params)
        turn = await self.unapproved.turn(pending.tool, touches)
        proof = await self.unapproved.proof(pending.tool, pending.call, touches)
        verdict = self._judge(pending, proof)
        if verdict.decision is Decision.ALLOW:
            pending.context.confined, pending.context.turn = self.unapproved.proven(proof), turn
        return verdict

    def _judge(self, pending: PendingCall, proof: "Confinement | None" = None) -> Verdict:
        """The verdict of policy. A bug in policy is a denial, because nobody allowed the call."""
        runtime = self._runtime
        try:
            subject, grants, denials = self._subject(pending), grants_of(runtime), denials_of(runtime)
            judge = runtime.services.policy.judge
            return strictest(runtime, lambda mode: judge(subject, mode, grants, denials, proof))
        except Exception as error:  # noqa: BLE001 - it must not end the task
            return _not_judged(error)

    def _decline(self, verdict: Verdict, pending: PendingCall) -> Verdict:
        try:
            return self._runtime.services.policy.decline(verdict, self._subject(pending))
        except Exception as error:  # noqa: BLE001 - it must not end the task
            return _not_judged(error)

    def _subject(self, pending: PendingCall) -> Subject:
        tool, params = pending.tool, pending.params
        return Subject(
            tool=tool.name,
            label=tool.label,
            effects=tool.effects_of(params),
            touches=_with_real_paths(tool.touches(params), pending.context),
            mode=self._runtime.mode,
        )

    async def _permission_hooks(self, pending: PendingCall, verdict: Verdict) -> tuple[Verdict, PendingCall]:
        """Let PermissionRequest hooks answer in the user's place, unless a rule requires the user's own approval."""
        hooks = self._runtime.services.hooks.lifecycle
        if hooks is None:
            return verdict, pending
        answer = await hooks.permission(pending.tool, pending.call, verdict, self._runtime.hook_context)
        if answer.stopped is not None:
            self._record(pending, Verdict(decision=Decision.DENY, reason=answer.stopped))
            raise TaskHalted(answer.stopped)
        if answer.decision == "deny":
            return Verdict(decision=Decision.DENY, reason=answer.reason or "A hook denied it."), pending
        if answer.decision != "allow" or is_asked_by_rule(verdict):
            return verdict, pending
        if answer.updated_input is not None:
            pending = self._with_input(pending, answer.updated_input, "A hook")
            # The pre-hooks saw another input; this one is what will run.
            final = await run_pre_hooks(self._runtime, pending.tool, pending.call, is_final=True)
            pending = msgspec.structs.replace(pending, hooks=final)
            verdict = with_hooks(self._judge(pending), final)
        if verdict.decision is Decision.ASK and not is_asked_by_rule(verdict):
            verdict = Verdict(decision=Decision.ALLOW, reason=answer.reason or "A hook approved it.")
        return verdict, pending

    def _record(self, pending: PendingCall, verdict: Verdict) -> None:
        self._runtime.journal.write(
            VerdictRecord(
                task_id=self._runtime.task_id,
                call_id=pending.call.id,
                tool=pending.tool.name,
                decision=verdict.decision,
                reason=verdict.reason,
                rule=verdict.rule,
            )
        )

    async def _admit_changed(self, pending: PendingCall, change: "ChangedCall") -> Admitted:
        """Admit the input that the user wrote instead. What is denied stays denied; the model learns what ran.

        If hooks want approval of the new input for a reason that the user has not seen, the user is asked again.
        """
        seen_reason, tool = pending.hooks.ask_reason, self._tools[change.tool]
        call = msgspec.structs.replace(pending.call, name=tool.name)
        context = CallContext(self._runtime, call.id)
        pending = msgspec.structs.replace(pending, tool=tool, call=call, context=context)
        pending = self._with_input(pending, change.input, "The user")
        # Hooks saw another input; they may refuse this one, but not change what the user wrote.
        hooks = await run_pre_hooks(self._runtime, pending.tool, pending.call, is_final=True)
        pending = msgspec.structs.replace(pending, hooks=hooks)
        verdict = self._judge(pending)
        if verdict.decision is Decision.DENY:
            raise CallStopped("denied", verdict.reason, denied(verdict.reason, NextStep.BY_RULE))
        context.pinned = verdict.pinned
        prepared = await self._prepare(pending)
        admitted = msgspec.structs.replace(prepared, feedback=change.note, images=change.images, is_shown=False)
        if hooks.ask_reason in (None, seen_reason):
            await self._confirm(pending.tool, pending.call)
            return admitted
        verdict = Verdict(decision=Decision.ASK, reason=hooks.ask_reason or "", rule="hook", wanted_by_hook=True)
        return await self._ask_approval(pending, admitted, verdict)

    def _show(self, call: ToolCall, preview: Preview) -> None:
        """Add a row for a call that needed no approval, so that the conversation shows what was done."""
        if preview.ask == "tool":
            self._runtime.rows.say("tool", preview.text, call_id=call.id)
        elif preview.ask == "command":
            text = msgspec.json.encode({"tool": "executeCommand", "command": preview.text}).decode()
            self._runtime.rows.say("tool", text, call_id=call.id)
        elif preview.ask == "use_mcp_server":
            self._runtime.rows.say("mcp_server_request_started", preview.text, call_id=call.id)

    async def _prepare(self, pending: PendingCall) -> Admitted:
        """Work the call out, once: what is shown now is what will run."""
        tool = pending.tool
        try:
            prepared = await tool.prepare(pending.params, pending.context)
        except REPORTED_TO_MODEL as error:
            is_mistake = isinstance(error, BadArguments)  # whatever it is, nobody is asked about a call that cannot run
            raise CallStopped("error", shown_reason(error), str(error), is_mistake=is_mistake) from error
        except Exception as error:
            raise CallStopped("error", f"{tool.name} failed: {cause_of(error)}") from error
        return Admitted(
            tool=tool,
            call=pending.call,
            prepared=prepared,
            context=pending.context,
            only_undoable=pending.hooks.only_undoable,
        )


def _not_judged(error: Exception) -> Verdict:
    reason = f"The permission check of this call failed, so it was denied and nothing was run. {cause_of(error)}"
    return Verdict(decision=Decision.DENY, reason=reason)


def _with_real_paths(touches: Touches, context: CallContext) -> Touches:
    """Add the resolved paths, because policy is pure and cannot follow symbolic links itself."""
    real = (_real_path(path, context) for path in touches.paths if "\0" not in path)
    return msgspec.structs.replace(touches, paths=tuple(dict.fromkeys((*touches.paths, *real))))


def _real_path(path: str, context: CallContext) -> str:
    try:
        return str(context.files.holding(path).resolve(path))
    except FileProblem:  # the tool will refuse it, but policy should still see the target
        return os.path.realpath(context.cwd / path)

"""The stages before a call runs: may it, with these arguments, now?"""

import asyncio
import json
import os
from collections import deque
from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, assert_never

import msgspec

from robota.contracts.hook import BlockCall, Halt, Proceed
from robota.contracts.tool import (
    REPORTED_TO_MODEL,
    AnyTool,
    BadArguments,
    Prepared,
    Preview,
    ToolCall,
    ToolError,
    Touches,
    call_title,
)
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.contracts.workspace import Files, Processes
from robota.engine.calls.call_stopped import (
    A_BUG,
    CallStopped,
    TaskHalted,
    denied,
    describe,
    mistake,
    not_logged,
)
from robota.engine.record.rows import StreamingRow
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.log.errors import ArtifactMissing
from robota.log.kinds.calls import VerdictRecord
from robota.protocol.asks.answer import Reject
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.message import Message
from robota.workspace.problems import FileProblem

if TYPE_CHECKING:
    from robota.engine.calls.approval import Approval, ChangedCall

# A command that has shown something and still runs after this time can be ended by a client.
OUTPUT_ASK_SECONDS: Final = 1.0
NOT_KEPT: Final = "(not kept: the session log cannot be written)"
LONGEST_CYCLE: Final = 4


class CallContext:
    """The `ToolContext` of one call."""

    def __init__(self, runtime: TaskRuntime, call: ToolCall) -> None:
        self._runtime = runtime
        self._call = call
        self._output: StreamingRow | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._asked: Message | None = None

    @property
    def cwd(self) -> Path:
        return self._runtime.options.cwd

    @property
    def call_id(self) -> str:
        return self._call.id

    @cached_property
    def files(self) -> Files:
        return self._runtime.services.files.for_call()

    def stamps(self) -> Mapping[str, tuple[int, ...]]:
        """How the files look that the call has shown to the model or written."""
        return self.files.stamps() if "files" in self.__dict__ else {}

    @property
    def processes(self) -> Processes:
        return self._runtime.services.processes

    def show(self, output: str) -> None:
        if self._output is None:
            self._output = self._runtime.rows.stream("command_output", call_id=self._call.id)
            if self._runtime.options.attended:
                self._timer = asyncio.get_running_loop().call_later(OUTPUT_ASK_SECONDS, self._ask_about_output)
        self._output.append(output)

    @property
    def shown_output(self) -> str:
        """What it has shown so far."""
        return "" if self._output is None else self._output.text

    def keep(self, data: bytes) -> str:
        return self._runtime.journal.keep(data) or NOT_KEPT

    async def keep_file(self, path: Path) -> str:
        return await self._runtime.journal.keep_file(path) or NOT_KEPT

    def kept(self, name: str) -> Path:
        try:
            return self._runtime.journal.kept(name)
        except ArtifactMissing as error:
            raise ToolError(str(error)) from error

    @property
    def sees_images(self) -> bool:
        return self._runtime.services.model.info.sees_images

    async def ask(self, asked: QuestionAsk) -> str | None:
        if not self._runtime.options.attended:
            return None
        answer = await self._runtime.ask(asked)
        return None if isinstance(answer, Reject) else answer.text

    def close(self, *, interrupted: bool = False) -> None:
        """The tool has ended; so has its output."""
        if self._timer is not None:
            self._timer.cancel()
        if self._asked is not None:
            self._runtime.asks.end_output(self._asked.ts)
            self._runtime.rows.change(self._asked, is_answered=True)
            self._asked = None
        if self._output is not None:
            self._output.finish(**({"interrupted": True} if interrupted else {}))

    def _ask_about_output(self) -> None:
        """Offer to end a command that takes its time; it goes on meanwhile."""
        self._asked = self._runtime.rows.ask("command_output", "", call_id=self._call.id)
        self._runtime.asks.show_output(self._asked.ts)


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """A call that may run as it was prepared; `feedback` is what the person said when approving it.

    `context` is the one it was prepared with, and `hook_context` what hooks want the model to know. `is_shown` says
    that its row shows it as it is, and not as it was before a person changed it.
    """

    tool: AnyTool
    call: ToolCall
    prepared: Prepared
    context: CallContext
    feedback: str = ""
    hook_context: str = ""
    is_shown: bool = True


class Admission:
    """Takes a call through the stages, in their order."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._runtime = runtime
        self._tools = {name: tool for tool in runtime.services.tools.all for name in (tool.name, *tool.aliases)}
        self.repetition = RepetitionGuard(runtime.options.mistake_limit)

    @cached_property
    def _approval(self) -> "Approval":
        # Loaded with the first question: most calls need none.
        from robota.engine.calls.approval import Approval

        return Approval(self._runtime)

    def tool(self, name: str) -> AnyTool | None:
        return self._tools.get(name)

    def meant(self, call: ToolCall) -> ToolCall:
        """The call itself, or the one that it stands for; one that cannot be read is found out later."""
        tool = self._tools.get(call.name)
        if tool is None or tool.redirect is None or call.problem is not None:
            return call
        try:
            other = tool.redirect(tool.decode(call.input))
        except BadArguments:
            return call
        return msgspec.structs.replace(call, name=other.name, input=other.input)

    async def admit(self, call: ToolCall, *, remark: str = "") -> Admitted:
        """`remark` is told to the person if they have to be asked."""
        tool, params = self._read(call)
        refusal = self._runtime.services.modes.allows(tool, self._runtime.mode, tool.touches(params))
        if refusal is not None:
            raise mistake(refusal)
        await self._guard_repetition(call)
        said = await self._pre_hooks(tool, call)
        if said.input is not None:
            call, params = self._rewritten(tool, call, said.input, "A hook")
        self._require_log(tool)
        # From here on a path means one place: what is judged is what is shown and done.
        context = CallContext(self._runtime, call)
        verdict, call, params, said = await self._verdict(tool, call, params, said, context)
        admitted = await self._prepared(tool, call, params, context)
        if verdict.decision is Decision.ALLOW and not self._runtime.has_answer_about(call.id):
            self._announce(call, admitted.prepared.preview)
        else:
            verdict = msgspec.structs.replace(verdict, reason=f"{remark} {verdict.reason}".lstrip())
            admitted = await self._approved(tool, call, admitted, verdict, said)
        return msgspec.structs.replace(admitted, hook_context=said.context)

    async def _approved(
        self, tool: AnyTool, call: ToolCall, admitted: Admitted, verdict: Verdict, said: Proceed
    ) -> Admitted:
        """The call as a person wants it; raises if they do not."""
        from robota.engine.calls.approval import ApprovedCall, ChangedCall

        title = call_title(tool, call.name, call.input)
        match await self._approval.ask(tool, call, admitted.prepared, verdict, title, said.refusal):
            case ApprovedCall(prepared=prepared, feedback=feedback):
                await self._confirm(tool, call)
                feedback = "\n".join(part for part in (admitted.feedback, feedback) if part)
                is_shown = admitted.is_shown and prepared is admitted.prepared
                return msgspec.structs.replace(admitted, prepared=prepared, feedback=feedback, is_shown=is_shown)
            case ChangedCall() as changed:
                return await self._with_changed_input(call, changed, said)
            case never:
                assert_never(never)

    async def _confirm(self, tool: AnyTool, call: ToolCall) -> None:
        """Much can have happened while a person thought about it."""
        for guard in self._runtime.services.hooks.guards:
            stop = await guard.confirm(tool, call, self._runtime.hook_context)
            if stop is not None:
                raise CallStopped("denied", stop.reason)

    def _read(self, call: ToolCall) -> tuple[AnyTool, Any]:
        if call.problem is not None:
            raise mistake(call.problem)
        tool = self._tools.get(call.name)
        if tool is None:
            names = ", ".join(tool.name for tool in self._runtime.services.tools.all)
            raise mistake(f"There is no tool {call.name!r}. The tools are: {names}.")
        try:
            return tool, tool.decode(call.input)
        except BadArguments as error:
            raise mistake(str(error)) from error

    async def _guard_repetition(self, call: ToolCall) -> None:
        repetition = self.repetition.count(call.name, call.input)
        if repetition is None:
            return
        from robota.engine.calls.repeated_call import answer_repetition

        # Where nobody can answer, asking is what ends the run.
        asks = self._runtime.options.attended or repetition is Repetition.STOPPED
        if asks:
            self.repetition.forget()
        is_last = repetition is Repetition.WARNED
        raise mistake(await answer_repetition(self._runtime, call.name, asks=asks, is_last=is_last))

    async def _pre_hooks(self, tool: AnyTool, call: ToolCall, *, is_final: bool = False) -> Proceed:
        """What the hooks say together; each one sees the input as the one before it left it, or as it is if final."""
        said = Proceed()
        for hook in self._runtime.services.hooks.before:
            outcome = await hook.before_tool(tool, call, self._runtime.hook_context)
            if isinstance(outcome, BlockCall):
                raise CallStopped("denied", outcome.reason)
            if isinstance(outcome, Halt):
                raise TaskHalted(outcome.reason)
            if outcome.input is not None and not is_final:
                call = msgspec.structs.replace(call, input=outcome.input)
            said = Proceed(
                input=outcome.input if outcome.input is not None else said.input,
                approved_by=outcome.approved_by or said.approved_by,
                ask_reason=" ".join(filter(None, (said.ask_reason, outcome.ask_reason))) or None,
                refusal=said.refusal or outcome.refusal,
                context="\n".join(part for part in (said.context, outcome.context) if part),
            )
        return said

    def _rewritten(self, tool: AnyTool, call: ToolCall, changed: dict[str, Any], who: str) -> tuple[ToolCall, Any]:
        """Somebody wants another input. It must fit the tool and the mode, as the model's own had to."""
        try:
            params = tool.decode(changed)
        except BadArguments as error:
            raise CallStopped("denied", f"{who} changed the input, and it cannot be used: {error}") from error
        refusal = self._runtime.services.modes.allows(tool, self._runtime.mode, tool.touches(params))
        if refusal is not None:
            raise CallStopped("denied", f"{who} changed the input, and it is not allowed: {refusal}")
        return msgspec.structs.replace(call, input=changed), params

    def _require_log(self, tool: AnyTool) -> None:
        trouble = self._runtime.journal.trouble
        if trouble is not None and tool.changes_something:
            raise CallStopped("denied", not_logged(trouble))

    async def _verdict(
        self, tool: AnyTool, call: ToolCall, params: Any, said: Proceed, context: CallContext
    ) -> tuple[Verdict, ToolCall, Any, Proceed]:
        """Policy decides; a hook can make it stricter, and can spare a question that only the mode raises."""
        runtime = self._runtime
        verdict = _with_hooks(self._judged(tool, params, context), said)
        if runtime.was_typed(call.id) and verdict.decision is Decision.ASK and said.input is None:
            verdict = Verdict(decision=Decision.ALLOW, reason="The person typed it themselves.")
        if verdict.decision is Decision.ASK:
            verdict, call, params, said = await self._asked_of_hooks(tool, call, params, verdict, said, context)
        if verdict.decision is Decision.ASK and not runtime.options.attended and not runtime.has_answer_about(call.id):
            verdict = self._declined(verdict, tool, params, context)
        self._record(call, tool, verdict)
        if verdict.decision is Decision.DENY:
            raise CallStopped("denied", verdict.reason, said.refusal or denied(message=verdict.reason))
        return verdict, call, params, said

    def _judged(self, tool: AnyTool, params: Any, context: CallContext) -> Verdict:
        """A bug in policy is a denial: whatever else it would have been, nobody allowed it."""
        runtime = self._runtime
        try:
            subject = self._subject(tool, params, context)
            grants = (*runtime.grants, *runtime.turn_grants)
            return runtime.services.policy.judge(subject, runtime.permission_mode, grants, runtime.turn_denials)
        except Exception as error:  # noqa: BLE001 - it must not end the task
            return _not_judged(error)

    def _declined(self, verdict: Verdict, tool: AnyTool, params: Any, context: CallContext) -> Verdict:
        try:
            return self._runtime.services.policy.decline(verdict, self._subject(tool, params, context))
        except Exception as error:  # noqa: BLE001 - it must not end the task
            return _not_judged(error)

    def _subject(self, tool: AnyTool, params: Any, context: CallContext) -> Subject:
        return Subject(
            tool=tool.name,
            label=tool.label,
            effects=tool.effects_of(params),
            touches=_with_real_paths(tool.touches(params), context),
            mode=self._runtime.mode,
        )

    async def _asked_of_hooks(
        self, tool: AnyTool, call: ToolCall, params: Any, verdict: Verdict, said: Proceed, context: CallContext
    ) -> tuple[Verdict, ToolCall, Any, Proceed]:
        """A hook may answer in the person's place, as far as no rule asks for the person themselves."""
        hooks = self._runtime.services.hooks.lifecycle
        if hooks is None:
            return verdict, call, params, said
        answer = await hooks.permission(tool, call, verdict, self._runtime.hook_context)
        if answer.stopped is not None:
            self._record(call, tool, Verdict(decision=Decision.DENY, reason=answer.stopped))
            raise TaskHalted(answer.stopped)
        if answer.decision == "deny":
            verdict = Verdict(decision=Decision.DENY, reason=answer.reason or "A hook said no.")
            return verdict, call, params, said
        if answer.decision != "allow" or _is_asked_by_rule(verdict):
            return verdict, call, params, said
        if answer.updated_input is not None:
            call, params = self._rewritten(tool, call, answer.updated_input, "A hook")
            # The hooks before saw another input; this one is what will run.
            said = await self._pre_hooks(tool, call, is_final=True)
            verdict = _with_hooks(self._judged(tool, params, context), said)
        if verdict.decision is Decision.ASK and not _is_asked_by_rule(verdict):
            verdict = Verdict(decision=Decision.ALLOW, reason=answer.reason or "A hook approved it.")
        return verdict, call, params, said

    def _record(self, call: ToolCall, tool: AnyTool, verdict: Verdict) -> None:
        self._runtime.journal.write(
            VerdictRecord(
                task_id=self._runtime.task_id,
                call_id=call.id,
                tool=tool.name,
                decision=verdict.decision,
                reason=verdict.reason,
                rule=verdict.rule,
            )
        )

    async def _with_changed_input(self, call: ToolCall, change: "ChangedCall", known: Proceed) -> Admitted:
        """The person approved another input. What is forbidden stays so; the model is told what really ran.

        If hooks now want a person for a reason that this one was not told, they are asked once more.
        """
        tool = self._tools[change.tool]
        call, params = self._rewritten(tool, msgspec.structs.replace(call, name=tool.name), change.input, "The user")
        # Hooks saw another input; they may refuse this one, but what the person wrote is not changed again.
        said = await self._pre_hooks(tool, call, is_final=True)
        context = CallContext(self._runtime, call)
        verdict = self._judged(tool, params, context)
        if verdict.decision is Decision.DENY:
            raise CallStopped("denied", verdict.reason, denied(message=verdict.reason))
        prepared = await self._prepared(tool, call, params, context)
        admitted = msgspec.structs.replace(prepared, feedback=change.note, is_shown=False)
        if said.ask_reason in (None, known.ask_reason):
            await self._confirm(tool, call)
            return admitted
        verdict = Verdict(decision=Decision.ASK, reason=said.ask_reason or "", rule="hook", wanted_by_hook=True)
        return await self._approved(tool, call, admitted, verdict, said)

    def _announce(self, call: ToolCall, preview: Preview) -> None:
        """A row for a call that needed no approval, so that the conversation shows what was done."""
        if preview.ask == "tool":
            self._runtime.rows.say("tool", preview.text, call_id=call.id)
        elif preview.ask == "command":
            said = msgspec.json.encode({"tool": "executeCommand", "command": preview.text}).decode()
            self._runtime.rows.say("tool", said, call_id=call.id)
        elif preview.ask == "use_mcp_server":
            self._runtime.rows.say("mcp_server_request_started", preview.text, call_id=call.id)

    async def _prepared(self, tool: AnyTool, call: ToolCall, params: Any, context: CallContext) -> Admitted:
        """The call worked out, once: what is shown now is what will run."""
        try:
            prepared = await tool.prepare(params, context)
        except REPORTED_TO_MODEL as error:
            # What cannot even be worked out cannot be done: the model learns it now, nobody is asked.
            raise CallStopped("error", str(error), is_mistake=True) from error
        except Exception as error:
            raise CallStopped("error", f"{tool.name} failed: {type(error).__name__}: {error}") from error
        return Admitted(tool=tool, call=call, prepared=prepared, context=context)


class Repetition(Enum):
    """What becomes of a call that goes over the limit, from the first time to the third."""

    REFUSED = 1
    WARNED = 2
    STOPPED = 3


class RepetitionGuard:
    """Notices a model that goes round in circles: one call over and over, or a short cycle of calls.

    `limit` identical calls in a row pass, and four times as many rounds of a cycle. Each call after that is refused,
    the second time with a warning; the third time the task has to stop, unless many other calls came between.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.forget()

    def forget(self) -> None:
        """Count anew, as after a word of the person."""
        self._recent: deque[bytes] = deque(maxlen=LONGEST_CYCLE)
        self._matches = dict.fromkeys(range(1, LONGEST_CYCLE + 1), 0)
        self._refusals = 0
        self._passed = 0

    def count(self, name: str, arguments: dict[str, Any]) -> Repetition | None:
        """Count the call; what becomes of it if it is one too many."""
        if self._limit <= 0:
            return None
        key = sha256(f"{name}:{json.dumps(arguments, sort_keys=True, default=str)}".encode("utf-8", "replace")).digest()
        recent = self._recent
        for length in self._matches:
            is_match = len(recent) >= length and recent[-length] == key
            self._matches[length] = self._matches[length] + 1 if is_match else 0
        recent.append(key)
        rounds = 4 * self._limit
        if self._matches[1] < self._limit and all(
            matches < length * (rounds - 1) for length, matches in self._matches.items() if length > 1
        ):
            self._passed += 1
            if self._passed > rounds:
                self._refusals = 0
            return None
        self._passed = 0
        self._refusals += 1
        return Repetition(min(self._refusals, Repetition.STOPPED.value))


def _not_judged(error: Exception) -> Verdict:
    reason = f"Judging this call failed, so it is not allowed and nothing was run ({describe(error)}). {A_BUG}"
    return Verdict(decision=Decision.DENY, reason=reason)


def _with_hooks(verdict: Verdict, said: Proceed) -> Verdict:
    if said.ask_reason is not None and verdict.decision is Decision.ALLOW:
        return Verdict(decision=Decision.ASK, reason=said.ask_reason, rule="hook", wanted_by_hook=True)
    if said.ask_reason is not None and verdict.decision is Decision.ASK:
        # The rule keeps a hook from answering; a rule that would stop policy's question does not stop this one.
        reason, rule = f"{said.ask_reason} {verdict.reason}", verdict.rule or "hook"
        return msgspec.structs.replace(verdict, reason=reason, rule=rule, suggestions=(), wanted_by_hook=True)
    is_free = verdict.decision is Decision.ASK and not _is_asked_by_rule(verdict)
    if is_free and said.approved_by is not None:
        return Verdict(decision=Decision.ALLOW, reason=f"Approved by a hook: {said.approved_by}")
    return verdict


def _is_asked_by_rule(verdict: Verdict) -> bool:
    """Whether a rule, and not only the mode, wants the person; of a command it may speak of any part."""
    return verdict.rule is not None or any(
        part.decision is Decision.ASK and part.rule is not None for part in verdict.parts
    )


def _with_real_paths(touches: Touches, context: CallContext) -> Touches:
    """Add what the paths lead to: policy, being pure, does not see through a link, nor where one leads outside."""
    real = (_real_path(path, context) for path in touches.paths if "\0" not in path)
    return msgspec.structs.replace(touches, paths=tuple(dict.fromkeys((*touches.paths, *real))))


def _real_path(path: str, context: CallContext) -> str:
    try:
        return str(context.files.resolve(path))
    except FileProblem:  # the tool will refuse it; policy shall see where it leads all the same
        return os.path.realpath(context.cwd / path)

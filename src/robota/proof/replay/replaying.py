"""Replays a recorded session in a scratch directory, with the recorded clock, ids and replies."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from robota.config.launch_options import LaunchOptions
from robota.config.paths import user_directory
from robota.config.profiles.profile import Profile
from robota.config.settings.schema import Completion
from robota.contracts.hook import SessionHooks
from robota.contracts.knowledge import InstructionService
from robota.contracts.tool import AnyTool, ToolGroup, ToolRole
from robota.engine.model.recorded_prompt import own_prompts
from robota.engine.runtime.services import SessionServices
from robota.engine.session.session import Session
from robota.log.artifacts import ARTIFACTS_NAME, read_artifact
from robota.log.chain.reader import LOG_NAME, load
from robota.log.chain.writer import Clock, SessionLog
from robota.log.kinds.session import OriginRecord
from robota.log.record import Record, payload_of
from robota.log.store import PROJECT_DIRECTORY, SESSIONS
from robota.log.transfer.draft import DraftSession
from robota.proof.replay.comparison import (
    Divergence,
    difference,
    first_divergence,
    first_tool_divergence,
    task_ids,
)
from robota.proof.replay.environment import (
    RecordedEnvironment,
    first_environment_divergence,
    first_instruction_divergence,
    user_texts,
)
from robota.proof.replay.recorded_model import ComparedModel, RecordedModel
from robota.proof.replay.recorded_services import (
    AllowsRecordedCalls,
    RecordedAgents,
    RecordedContext,
    RecordedHooks,
    RecordedKnowledge,
    RecordedModes,
    RecordedSystemPrompt,
)
from robota.proof.replay.recorded_user import RecordedUser
from robota.proof.replay.recording import Leg, NotRepeated, NotReplayable, RecordedReply, Recording
from robota.proof.replay.recording_fold import recording_of
from robota.proof.replay.replay_files import ReplayFiles
from robota.proof.replay.replayed_tools import RecordedChanges, ReplayedTools, ReplayManner
from robota.protocol.commands import CondenseContext, QueueMessage
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import Provider
from robota.secrets.redaction import Redactor
from robota.tools.registry import builtin_tools
from robota.tools.task import new_task, skill
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore, OpenStore
from robota.workspace.git.run import GitError, open_git
from robota.workspace.sandbox.session_sandbox import SessionSandbox

SCRATCH: Final = "robota-replay-"
# How long to wait for the next event. Replies and results come from the log, so a longer silence is a hang.
EVENT_TIMEOUT_S: Final = 60.0
RECORDED_PROFILE: Final = Profile(type="scripted", name="recording", model="recorded", options={"turns": []})


class ReplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The session to replay and what to run live. `is_own`: the log was written on this machine."""

    directory: Path
    root: Path
    is_own: bool
    live_tools: bool = False
    live_model: LaunchOptions | None = None


class OpenedSession(Protocol):
    """What a replay needs of an open session."""

    @property
    def session(self) -> Session: ...

    @property
    def services(self) -> SessionServices: ...

    @property
    def log(self) -> SessionLog: ...

    @property
    def sandbox(self) -> SessionSandbox | None: ...

    async def resume(self) -> None: ...

    async def close(self) -> None: ...


class SessionOpener(Protocol):
    """Opens a session in the scratch workspace, with some services replaced."""

    def __call__(
        self,
        launch: LaunchOptions,
        env: Mapping[str, str],
        *,
        now_ms: Clock,
        replace_services: Callable[[SessionServices], SessionServices],
    ) -> OpenedSession: ...


class ReplayHost(msgspec.Struct, frozen=True, kw_only=True):
    """How a replay opens sessions, files and models."""

    open_session: SessionOpener
    instructions: Callable[[Path], InstructionService]  # those of a project
    recorded_files: Callable[[str], AbstractContextManager[OpenStore] | None]  # the checkpoints of a directory
    checkpoint_store: Callable[[Path, Mapping[str, str]], CheckpointStore]
    live_model: Callable[[LaunchOptions], tuple[Provider, str]]  # and its name


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result. `requests` of `all_requests` were replayed; `notes` are further messages for the user.

    `not_compared` says from which request on the sessions could not be compared, and why.
    """

    requests: int
    all_requests: int
    compared_files: bool
    divergence: Divergence | None
    not_compared: NotRepeated | None = None
    notes: tuple[str, ...] = ()


async def replay(options: ReplayOptions, host: ReplayHost, env: Mapping[str, str]) -> ReplayReport:
    """Replay a session. Raises `NotReplayable`, `ConfigError`, `LogError` and `CheckpointError`."""
    artifacts = options.directory / ARTIFACTS_NAME
    records = load(options.directory / LOG_NAME).records
    if options.live_tools and any(map(_is_foreign_origin, records)):
        raise NotReplayable("Its log came from elsewhere, at least in part, so none of its commands is run again")
    recording = recording_of(records, lambda name: read_artifact(artifacts, name))
    if recording.header.completion not in set(Completion):
        raise NotReplayable("Its log says that its tasks end in a way that this version does not know")
    with tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True) as scratch:
        return await _Replay(options, host, recording, _real(scratch), env).report()


def _is_foreign_origin(record: Record) -> bool:
    """Whether the record says that those before it were not written on this machine."""
    payload = payload_of(record)
    return isinstance(payload, OriginRecord) and not payload.made_here


def _real(directory: str) -> Path:
    return Path(os.path.realpath(directory))


class _Replay:
    """One replay. The scratch directory holds the workspace and a user directory."""

    def __init__(
        self, options: ReplayOptions, host: ReplayHost, recording: Recording, scratch: Path, env: Mapping[str, str]
    ) -> None:
        self._options = options
        self._host = host
        self._recording = recording
        self._workspace = scratch / "workspace"
        self._env = env
        surroundings = str(int(recording.has_environment))
        self._own_env = {**env, "ROBOTA_HOME": str(scratch / "home"), "ROBOTA_ENVIRONMENT": surroundings}
        self._now = 0
        self._replies_given = 0
        self._leg = recording.legs[0]
        self._model = RecordedModel((), self._play_at)
        self._environment = RecordedEnvironment(self._leg, lambda: self._model.replies_given)
        self._compared: ComparedModel | None = None
        self._files: ReplayFiles | None = None
        self._user: RecordedUser | None = None
        self._head_divergence: Divergence | None = None
        self._notes: list[str] = []

    async def report(self) -> ReplayReport:
        self._workspace.mkdir(parents=True)
        self._files = self._checked_out()
        if self._files is None and self._options.live_tools:
            raise NotReplayable("There is no checkpoint of its start, so its tools have no files to run on")
        if (self._options.root / ".git").exists():
            await _make_repository(self._workspace, self._own_env)
        first: Divergence | None = None
        for leg in self._recording.legs:
            first = await self._run(leg)
            if first is not None:
                break
        before = None if first is None or first is self._head_divergence else first.request
        limit = next((each for each in self._recording.not_repeated if before and each.request <= before), None)
        return ReplayReport(
            requests=self._replies_given,
            all_requests=self._recording.replies,
            compared_files=self._files is not None,
            divergence=first if limit is None else None,
            not_compared=limit,
            notes=tuple(self._notes),
        )

    async def _run(self, leg: Leg) -> Divergence | None:
        """Replay a leg and compare it."""
        self._now = leg.records[0].ts
        self._own_env["ROBOTA_HOME"] = str(self._workspace.parent / f"home-{leg.first}")
        if self._files is None:
            _create_empty_files(self._workspace, leg)
        self._leg, self._model = leg, RecordedModel(leg.replies, self._play_at)
        self._environment = RecordedEnvironment(leg, lambda: self._model.replies_given)
        opened = self._host.open_session(
            self._launch(leg), self._own_env, now_ms=lambda: self._now, replace_services=self._with_recorded_services
        )
        try:
            self._require_sandbox(opened)
            if self._files is not None:
                self._files.files = opened.services.files
            is_live = self._options.live_tools or self._options.live_model is not None
            timeout_s = None if is_live else EVENT_TIMEOUT_S
            user = self._user = RecordedUser(opened.session, leg, lambda: self._model.replies_given, timeout_s)
            await self._resume(opened, leg)
            await user.drive()
        finally:
            await opened.close()
        self._replies_given += sum(reply.fault is None for reply in leg.replies[: self._model.replies_given])
        return self._compare(opened, leg, user.trouble)

    async def _resume(self, opened: OpenedSession, leg: Leg) -> None:
        if leg.by_another_process:
            await opened.resume()
        elif leg.first:
            await opened.session.offer_resumption()
            await asyncio.sleep(0)  # lets the resumed task ask its question

    async def _play_at(self, number: int, reply: RecordedReply) -> None:
        """Set the clock to the recorded request and send messages that were queued during the reply."""
        self._now = max(self._now, reply.ts)
        if self._user is not None:
            await self._user.give_orders(number, QueueMessage)

    async def _on_call(self) -> None:
        """Condense where the user did; the engine does so while calls run, not during a reply."""
        if self._user is not None:
            await self._user.give_orders(self._model.replies_given - 1, CondenseContext)

    def _launch(self, leg: Leg) -> LaunchOptions:
        header = self._recording.header
        return LaunchOptions(
            cwd=self._workspace,
            profile=msgspec.structs.replace(RECORDED_PROFILE, model=header.model),
            permission_mode=PermissionMode.DEFAULT if self._options.live_tools else header.permission_mode,
            completion=Completion.recorded(header.completion),
            settings=self._settings(),
            attended=self._recording.is_attended,
            max_turns=self._recording.max_requests,
            max_cost=self._recording.max_cost,
            system_prompt="",
            session_id=header.id if leg.first == 0 else None,
            resumes=self._log_before(leg) if leg.first else None,
        )

    def _settings(self) -> dict[str, Any]:
        """The only setting that affects a replay: when the conversation is condensed."""
        room, condense_at = self._recording.input_room, self._recording.condense_at
        share = False if condense_at is None else min(1.0, condense_at / max(1, room))
        return {"autoCompactThreshold": share} if room else {}

    def _log_before(self, leg: Leg) -> Path:
        """Write the log before the leg as a session in the workspace, and return its directory."""
        shutil.rmtree(self._workspace / PROJECT_DIRECTORY / SESSIONS, ignore_errors=True)
        user = user_directory(self._own_env)
        with DraftSession(self._workspace, user, self._recording.header.id, Redactor()) as draft:
            for record in self._recording.records[: leg.first]:
                draft.add(record.kind, bytes(record.payload), record.ts)
            draft.take_artifacts(self._options.directory / ARTIFACTS_NAME)
            return draft.finish()

    def _checked_out(self) -> ReplayFiles | None:
        """Check out the files as the session found them; None if its checkpoints are not here."""
        cwd, start = self._recording.header.cwd, self._recording.start
        opening = self._host.recorded_files(cwd) if self._options.is_own and start else None
        if opening is None:
            self._notes.append("Its files are missing, so results are taken from the log and no bytes are compared.")
            return None
        try:
            with opening as store:
                store.check_out(store.completed(start), self._workspace)
        except CheckpointError as error:
            self._notes.append(f"Its files are not available ({error}), so no bytes are compared.")
            return None
        original = self._host.checkpoint_store(Path(cwd), self._env)
        scratch = self._host.checkpoint_store(self._workspace, self._own_env)
        return ReplayFiles(original, scratch, lambda: self._leg.replies_before + self._model.replies_given, Redactor())

    def _with_recorded_services(self, services: SessionServices) -> SessionServices:
        recording = self._recording
        window = recording.context_window or services.model.info.context_window
        reserved = window - recording.input_room if recording.input_room else services.model.info.max_output_tokens
        info = msgspec.structs.replace(services.model.info, context_window=window, max_output_tokens=reserved)
        self._compare_heads(services)
        manner = ReplayManner(
            talking=frozenset(tool.name for tool in builtin_tools() if _talks(tool)),
            is_live=self._options.live_tools,
            counts_mistakes=recording.counts_mistakes,
            delegating=frozenset({new_task.TOOL.name, skill.TOOL.name}),
        )
        offered = {spec.name for spec in recording.specs}
        recorded_tools = (*services.tools.all, *([skill.TOOL] if skill.TOOL.name in offered else []))
        here = {tool.name: tool for tool in recorded_tools}
        tools = ReplayedTools(tuple(here.values()), recording.specs, self._leg.calls, self._files, manner)
        return msgspec.structs.replace(
            services,
            model=msgspec.structs.replace(services.model, provider=self._provider(), info=info),
            tools=tools,
            policy=AllowsRecordedCalls(),
            modes=RecordedModes(services.modes, {head.mode for head in recording.heads}),
            hooks=SessionHooks(
                before=(RecordedChanges(self._leg.calls, self._on_call),),
                lifecycle=RecordedHooks(self._leg.blocked_stops, lambda: self._model.replies_given),
                context=RecordedContext(self._leg.intent_reminders, lambda: self._model.replies_given),
            ),
            checkpoint=None,
            knowledge=RecordedKnowledge(self._leg.forks),
            prompts=None,
            instructions=RecordedSystemPrompt(recording.systems, self._host.instructions(self._workspace)),
            memory=None,
            agents=RecordedAgents(services.agents),
            mentions=None,
            rewind=None,
            replay_environment=self._environment,
        )

    def _compare_heads(self, services: SessionServices) -> None:
        """Compare tools, system prompt and instruction files with today's."""
        recording = self._recording
        divergences = [first_tool_divergence(recording.heads, services.tools.specs)]
        for head in recording.heads:
            role = services.modes.roles.get(head.mode) if self._options.is_own else None
            pair = own_prompts(head.system, role)
            if pair is None:
                self._note("The system prompt was not Robota's own, so it is not compared.")
            elif pair.recorded != pair.today:
                divergences.append(difference("prompt", "the system prompt", pair.recorded, pair.today, head.request))
        if self._files is not None and self._leg.first == 0 and recording.heads:
            head = recording.heads[0]
            today = self._host.instructions(self._workspace).prompt_section(head.mode)
            covered = Redactor()(today.encode()).decode()  # as logs have it
            divergences.append(first_instruction_divergence([head.system], [covered], self._in_recording, head.request))
        self._head_divergence = _first([each for each in divergences if each is not None])

    def _in_recording(self, text: str) -> str:
        return text.replace(str(self._workspace), self._recording.header.cwd)

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _provider(self) -> RecordedModel | ComparedModel:
        if self._options.live_model is None:
            return self._model
        live, name = self._host.live_model(self._options.live_model)
        self._compared = ComparedModel(live, self._model, name)
        return self._compared

    def _require_sandbox(self, opened: OpenedSession) -> None:
        if self._options.live_tools and (opened.sandbox is None or not opened.sandbox.works()):
            raise NotReplayable("There is no sandbox on this machine, and without one no command is run again")

    def _compare(self, opened: OpenedSession, leg: Leg, trouble: str) -> Divergence | None:
        recording = self._recording
        replayed = load(opened.log.path).records
        pairs = list(zip(task_ids(replayed), task_ids(recording.records), strict=False))

        def as_recorded(text: str) -> str:
            for ours, theirs in pairs:
                text = text.replace(ours, theirs)
            return self._in_recording(text)

        found = [] if self._files is None else self._files.found[:1]
        decided = None if self._compared is None else self._compared.found
        again = replayed[leg.first :]
        divergences = (
            first_divergence(leg, again, as_recorded),
            first_environment_divergence(leg, self._environment.today, has_files=self._files is not None),
            first_instruction_divergence(user_texts(leg.records), user_texts(again), as_recorded, leg.replies_before),
        )
        if self._compared is not None and self._compared.fault is not None:
            raise NotReplayable(f"The model did not respond: {self._compared.fault.message}")
        first = decided or _first([each for each in (self._head_divergence, *found, *divergences) if each is not None])
        if trouble and first is not None and decided is None:
            self._notes.append(f"The replay stopped: {trouble}")
        return first


async def _make_repository(workspace: Path, env: Mapping[str, str]) -> None:
    """Make an empty repository, so that code that looks for the top of the repository finds the workspace."""
    with suppress(GitError):
        await (await open_git(workspace, env)).run("init", "-q")


def _talks(tool: AnyTool) -> bool:
    """Whether a call only talks to the engine. What agents did is recorded; no agent is started again."""
    return tool.group is ToolGroup.TASK and tool.role is not ToolRole.AGENTS


def _create_empty_files(workspace: Path, leg: Leg) -> None:
    """Create the files that calls read as empty ones, because some messages depend on whether a file exists."""
    for path in {path for calls in leg.calls.values() for call in calls for path in call.paths}:
        place = Path(path)
        if not place.is_absolute() and ".." not in place.parts and "\0" not in path:
            with suppress(OSError):
                (workspace / place).parent.mkdir(parents=True, exist_ok=True)
                (workspace / place).touch()


def _first(found: Sequence[Divergence]) -> Divergence | None:
    """The earliest divergence; within a request the input of a call comes first, then files, then the rest."""
    order = {"arguments": 0, "files": 1}
    return min(found, key=lambda each: (each.request, order.get(each.kind, 2)), default=None)

"""Runs a recorded session again: in a directory of its own, with the clock, ids and replies of then."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.app.proof import opening_checkpoints
from robota.app.provider import chosen_profile, model_access
from robota.app.rewinding.checkpoints import checkpoint_store
from robota.app.session import OpenSession, open_session
from robota.config.launch_options import LaunchOptions, settings_for
from robota.config.profiles.profile import Profile
from robota.config.settings.schema import CheckpointSettings
from robota.contracts.hook import SessionHooks
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.engine.runtime.services import SessionServices
from robota.log.artifacts import read_artifact
from robota.log.chain.reader import LOG_NAME, load
from robota.log.chain.writer import ARTIFACTS_NAME
from robota.proof.replay.comparison import Divergence, first_divergence, task_ids
from robota.proof.replay.recorded_model import ComparedModel, RecordedModel
from robota.proof.replay.recorded_person import RecordedPerson
from robota.proof.replay.recording import NotReplayable, RecordedReply, Recording, recording_of
from robota.proof.replay.replay_files import ReplayFiles
from robota.proof.replay.replayed_tools import ReplayedTools
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore
from robota.workspace.git.run import GitError, open_git

SCRATCH: Final = "robota-replay-"
# Where files of the recording are compared there must be checkpoints of both.
PLAYED: Final = Profile(type="scripted", name="recording", model="recorded", options={"turns": []})


class ReplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which session of which project, and what of it is to run anew. `is_own`: it was written on this machine."""

    directory: Path
    root: Path
    is_own: bool
    live_tools: bool = False
    live_model: LaunchOptions | None = None


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """How it went. `requests` of `all_requests` were made again; `notes` are what a person should know besides."""

    requests: int
    all_requests: int
    compared_files: bool
    divergence: Divergence | None
    notes: tuple[str, ...] = ()


async def replay_session(options: ReplayOptions, env: Mapping[str, str]) -> ReplayReport:
    """Run it again. Raises `NotReplayable`, `ConfigError`, `LogError` and `CheckpointError`."""
    artifacts = options.directory / ARTIFACTS_NAME
    recording = recording_of(load(options.directory / LOG_NAME).records, lambda name: read_artifact(artifacts, name))
    with tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True) as scratch:
        return await _Replay(options, recording, _real(scratch), env).report()


def _real(directory: str) -> Path:
    return Path(os.path.realpath(directory))


class _Replay:
    """One run. The workspace lies in the scratch directory, and beside it what a user's directory would hold."""

    def __init__(self, options: ReplayOptions, recording: Recording, scratch: Path, env: Mapping[str, str]) -> None:
        self._options = options
        self._recording = recording
        self._workspace = scratch / "workspace"
        self._env = env
        self._own_env = {**env, "ROBOTA_HOME": str(scratch / "home")}
        self._now = recording.prompts[0].ts
        self._model = RecordedModel(recording.replies, self._at)
        self._compared: ComparedModel | None = None
        self._files: ReplayFiles | None = None
        self._notes: list[str] = []

    async def report(self) -> ReplayReport:
        self._workspace.mkdir(parents=True)
        self._files = self._checked_out()
        if self._files is None and self._options.live_tools:
            raise NotReplayable("There is no checkpoint of its start, so its tools have no files to run on")
        if (self._options.root / ".git").exists():
            await _make_repository(self._workspace, self._own_env)
        opened = open_session(self._launch(), self._own_env, now_ms=lambda: self._now, arrange=self._arranged)
        try:
            self._require_sandbox(opened)
            if self._files is not None:
                self._files.files = opened.services.files
            person = RecordedPerson(opened.session, self._recording)
            await person.drive()
        finally:
            await opened.close()
        return self._compare(opened, person.trouble)

    def _at(self, reply: RecordedReply) -> None:
        """The clock of then: the next row is the one after the request."""
        self._now = max(self._now, reply.ts)

    def _launch(self) -> LaunchOptions:
        header = self._recording.header
        return LaunchOptions(
            cwd=self._workspace,
            profile=msgspec.structs.replace(PLAYED, model=header.model),
            permission_mode=PermissionMode.DEFAULT,
            mode=self._recording.prompts[0].mode or None,
            completion=header.completion,
            system_prompt="",
            session_id=header.id,
        )

    def _checked_out(self) -> ReplayFiles | None:
        """The files as the session found them; None if there are no checkpoints of it here."""
        cwd, start = self._recording.header.cwd, self._recording.start
        opening = opening_checkpoints(self._options.root, self._env)(cwd) if self._options.is_own and start else None
        if opening is None:
            self._notes.append("Its files are not here, so results are taken from the log and no bytes are compared.")
            return None
        try:
            with opening as store:
                store.check_out(store.completed(start), self._workspace)
        except CheckpointError as error:
            self._notes.append(f"Its files cannot be had ({error}), so no bytes are compared.")
            return None
        settings = CheckpointSettings()
        original = checkpoint_store(settings, Path(cwd), self._env)
        scratch: CheckpointStore = checkpoint_store(settings, self._workspace, self._own_env)
        return ReplayFiles(original, scratch, lambda: self._model.given)

    def _arranged(self, services: SessionServices) -> SessionServices:
        recording = self._recording
        window = recording.context_window or services.model.info.context_window
        info = msgspec.structs.replace(services.model.info, context_window=window)
        tools = ReplayedTools(services.tools.all, recording, self._files, is_live=self._options.live_tools)
        return msgspec.structs.replace(
            services,
            model=msgspec.structs.replace(services.model, provider=self._answering(), info=info),
            tools=tools,
            policy=_AsRecorded(),
            hooks=SessionHooks(),
            checkpoint=None,
            knowledge=None,
            prompts=None,
            instructions=_RecordedSystem(recording.systems),
            memory=None,
            mentions=None,
            rewind=None,
        )

    def _answering(self) -> RecordedModel | ComparedModel:
        if self._options.live_model is None:
            return self._model
        launch = self._options.live_model
        profile = chosen_profile(launch, settings_for(launch, self._options.root, self._env), self._env)
        live = model_access(profile, None).provider
        self._compared = ComparedModel(live, self._model, profile.model or "")
        return self._compared

    def _require_sandbox(self, opened: OpenSession) -> None:
        if self._options.live_tools and (opened.sandbox is None or not opened.sandbox.works()):
            raise NotReplayable("There is no sandbox on this machine, and without one no command is run again")

    def _compare(self, opened: OpenSession, trouble: str) -> ReplayReport:
        recording = self._recording
        replayed = load(opened.log.path).records

        pairs = list(zip(task_ids(replayed), task_ids(recording.records), strict=False))

        def as_recorded(text: str) -> str:
            for ours, theirs in pairs:
                text = text.replace(ours, theirs)
            return text.replace(str(self._workspace), recording.header.cwd)

        found = [] if self._files is None else self._files.found[:1]
        decided = None if self._compared is None else self._compared.found
        told = None if decided is not None else first_divergence(recording.records, replayed, as_recorded)
        first = decided or _first([*found, *([] if told is None else [told])])
        if recording.ends_because:
            self._notes.append(f"It goes on in the log, but {recording.ends_because}; up to there it was run again.")
        if trouble and first is not None:
            self._notes.append(f"The replay stopped: {trouble}")
        return ReplayReport(
            requests=self._model.given,
            all_requests=len(recording.replies),
            compared_files=self._files is not None,
            divergence=first,
            notes=tuple(self._notes),
        )


async def _make_repository(workspace: Path, env: Mapping[str, str]) -> None:
    """An empty one, because there was one: what looks for its top finds it."""
    with suppress(GitError):
        await (await open_git(workspace, env)).run("init", "-q")


def _first(found: Sequence[Divergence]) -> Divergence | None:
    """What came first: what a call runs with, then the files that it leaves, then what the model is told of it."""
    order = {"arguments": 0, "files": 1}
    return min(found, key=lambda each: (each.request, order.get(each.kind, 2)), default=None)


class _AsRecorded:
    """A `PolicyService` for calls that were decided about long ago: what did not run then does not run now either."""

    def judge(
        self, subject: Subject, mode: PermissionMode, grants: Sequence[str], denials: Sequence[str] = ()
    ) -> Verdict:
        return Verdict(decision=Decision.ALLOW, reason="It is run again in a directory of its own.")

    def decline(self, verdict: Verdict, subject: Subject) -> Verdict:
        return verdict

    def remember(self, scope: str, rules: Sequence[str]) -> str:
        return ""


class _RecordedSystem:
    """An `InstructionService` that tells the whole system prompt of the recording."""

    def __init__(self, systems: Mapping[str, str]) -> None:
        self._systems = systems

    def prompt_section(self, mode: str) -> str:
        return self._systems.get(mode, next(iter(self._systems.values()), ""))

    def touched(self, task_id: str, mode: str, paths: Sequence[str]) -> str:
        return ""

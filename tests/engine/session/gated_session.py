"""A real session whose model answers only when the test lets it, and a way to know that nothing moves any more."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from robota.app.session import OpenSession, open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.engine.runtime.services import SessionServices
from robota.log.chain.reader import load
from robota.log.replay.session import SessionFold, replay
from robota.protocol.commands import Command, Receipt
from robota.protocol.events import Event, MessageCreated, MessageUpdated, State
from robota.protocol.message import Message
from robota.protocol.state import AgentState, StateTracker
from robota.providers.chunks import CallArgumentsChunk, CallStartChunk, Chunk, FinishChunk, ModelRequest, TextChunk
from robota.providers.fault import FaultKind, ProviderFault

# A pause that is longer than this ends only by a command.
LONG_PAUSE_S = 600


class GatedModel:
    """A model that says nothing until the test calls `say`."""

    def __init__(self) -> None:
        self._gates: list[tuple[asyncio.Future[str], ModelRequest]] = []
        self._calls = 0

    @property
    def is_asked(self) -> bool:
        """Whether a request waits for words."""
        return bool(self._gates)

    def say(self, what: str, prompt: str = "") -> bool:
        """Let the newest request go on, of those that began with this prompt; False if there is none."""
        waiting = [gate for gate, request in self._gates if not gate.done() and prompt in str(request.turns[0].content)]
        if waiting:
            waiting[-1].set_result(what)
        return bool(waiting)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        is_over = False
        while not is_over:
            gate: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._gates.append((gate, request))
            try:
                what = await gate
            finally:
                self._gates.remove((gate, request))
            chunks = self._chunks(what)
            yield chunks
            is_over = isinstance(chunks[-1], FinishChunk)

    async def close(self) -> None:
        """Nothing is open."""

    def _chunks(self, what: str) -> list[Chunk]:
        if what == "refuse":
            raise ProviderFault(FaultKind.AUTHENTICATION, "The key is wrong.")
        if what == "be busy":
            raise ProviderFault(FaultKind.OVERLOADED, "Too much to do.", retry_after_s=LONG_PAUSE_S + 1)
        if what == "some words":
            return [TextChunk("some ")]
        if what == "nothing":
            return [FinishChunk("end_turn")]
        if what not in CALLS:
            return [TextChunk(what), FinishChunk("end_turn")]
        self._calls += 1
        name, arguments = CALLS[what]
        text = msgspec.json.encode(arguments).decode().replace("NUMBER", str(self._calls))
        return [
            CallStartChunk(0, f"call_{self._calls}", name),
            CallArgumentsChunk(0, text),
            FinishChunk("tool_use"),
        ]


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "question": ("ask_followup_question", {"question": "Which?", "follow_up": [{"text": "A"}]}),
    "look": ("list_files", {"path": "."}),
    "write": ("write_to_file", {"path": "made-NUMBER.txt", "content": "made"}),
    "delegate": ("new_task", {"mode": "code", "message": "a part of it"}),
    "complete": ("attempt_completion", {"result": "All is done."}),
    "invalid call": ("no_such_tool", {}),
}
WORDS = ("an answer", "some words", "nothing", "refuse", "be busy", *CALLS)


class CountingExecutor(ThreadPoolExecutor):
    """Knows which jobs are not done yet."""

    def __init__(self) -> None:
        super().__init__(max_workers=4)
        self._jobs: set[Future[Any]] = set()

    def submit(self, *args: Any, **fields: Any) -> Future[Any]:
        job = super().submit(*args, **fields)
        self._jobs.add(job)
        return job

    async def drained(self) -> bool:
        """Wait for the jobs so far; False if there were none."""
        jobs, self._jobs = self._jobs, set()
        await asyncio.gather(*map(asyncio.wrap_future, jobs), return_exceptions=True)
        return bool(jobs)


async def checkpoints_saved() -> bool:
    """Wait for checkpoints that are being saved, in threads of their own; False if there were none."""
    saving = [thread for thread in threading.enumerate() if thread.name == "checkpoint"]
    for thread in saving:
        await asyncio.to_thread(thread.join)
    return bool(saving)


class GatedSession:
    """An open session, its model, and everything that its events told."""

    def __init__(
        self, open_anew: Callable[[Path | None], OpenSession], model: GatedModel, executor: CountingExecutor
    ) -> None:
        """`open_anew` opens a new session, or resumes the one in a directory."""
        self.model, self._executor, self._open_anew = model, executor, open_anew
        self.seen: list[Event] = []
        self.tracker = StateTracker()
        self.unhandled: list[str] = []  # exceptions that nobody awaits
        asyncio.get_running_loop().set_exception_handler(lambda _, about: self.unhandled.append(str(about)))
        self._attach(open_anew(None))

    def _attach(self, opened: OpenSession) -> None:
        self.opened, self.session = opened, opened.session
        self._reading = asyncio.create_task(self._read(self.session.events()))

    async def reopen(self) -> None:
        """Close the session and resume it from its log, as another process would."""
        await self.opened.close()
        self._attach(self._open_anew(self.opened.log.path.parent))
        await self.opened.resume()
        await self.settle()

    async def _read(self, events: AsyncIterator[Event]) -> None:
        async for event in events:
            self.seen.append(event)
            if isinstance(event, State):
                self.tracker.replace(event.state.cline_messages)
            elif isinstance(event, MessageCreated):
                self.tracker.created(event.message)
            elif isinstance(event, MessageUpdated):
                self.tracker.updated(event.message)

    async def close(self) -> None:
        """Close the session and read its events to the end."""
        await self.opened.close()
        await self._reading

    async def settle(self) -> None:
        """Return when the event loop has nothing left to do: no callback, no thread, no timer that is due soon."""
        loop: Any = asyncio.get_running_loop()
        is_synced = False  # the thread that syncs the log is no job of the executor
        while True:
            await asyncio.sleep(0)
            timers = [timer.when() - loop.time() for timer in loop._scheduled if not timer.cancelled()]
            soon = [pause for pause in timers if pause < LONG_PAUSE_S]
            if loop._ready or await self._executor.drained() or await checkpoints_saved():
                is_synced = False
            elif not is_synced:
                await self.opened.log.sync()
                is_synced = True
            elif soon:
                await asyncio.sleep(max(0.0, min(soon)))
                is_synced = False
            else:
                return

    async def submit_all(self, *commands: Command) -> list[Receipt]:
        """Submit them at once. When nothing moves any more, each must have its receipt, and none an error."""
        jobs = [asyncio.create_task(self.session.submit(command)) for command in commands]
        await self.settle()
        missing = [command for command, job in zip(commands, jobs, strict=True) if not job.done()]
        for job in jobs:
            job.cancel()  # else the session could not be closed, and the test would hang instead of failing
        assert not missing, f"nothing moves any more, and these have no receipt: {missing}"
        return [job.result() for job in jobs]

    async def submit(self, command: Command) -> Receipt:
        [receipt] = await self.submit_all(command)
        return receipt

    async def model_says(self, what: str, prompt: str = "") -> None:
        """Let the model say it, if it is asked with this prompt, and wait until nothing moves any more."""
        self.model.say(what, prompt)
        await self.settle()

    @property
    def rows(self) -> Sequence[Message]:
        return self.session.state().cline_messages

    @property
    def state(self) -> AgentState:
        return self.tracker.info.state

    @property
    def ask(self) -> str | None:
        """What is asked now."""
        return self.tracker.info.current_ask

    def logged(self) -> SessionFold:
        """What the log alone tells."""
        return replay(load(self.opened.log.path).records)


def with_gated_session(place: Path, story: Callable[[GatedSession], Awaitable[None]], **launch: Any) -> None:
    """Open a session in `place`, let the story happen, and close it."""
    workspace = place / "work"
    workspace.mkdir()
    model = GatedModel()

    def gated(services: SessionServices) -> SessionServices:
        return msgspec.structs.replace(services, model=msgspec.structs.replace(services.model, provider=model))

    async def run() -> None:
        executor = CountingExecutor()
        asyncio.get_running_loop().set_default_executor(executor)
        profile = Profile(type="scripted", name="gated", model="scripted", options={"turns": []})
        env = {"ROBOTA_HOME": str(place / "home"), "PATH": os.environ["PATH"], "ROBOTA_ENVIRONMENT": "0"}

        def open_anew(resumes: Path | None) -> OpenSession:
            options = LaunchOptions(cwd=workspace, profile=profile, resumes=resumes, **launch)
            return open_session(options, env, replace_services=gated)

        stage = GatedSession(open_anew, model, executor)
        try:
            await story(stage)
        finally:
            await stage.opened.close()

    asyncio.run(run())

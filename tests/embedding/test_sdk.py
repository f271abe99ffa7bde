"""`robota.sdk`: sessions in a program, in a process of their own, and attached; what a program adds to them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

import pytest

from robota import sdk
from tests.cli.scripts import call, script, write_settings
from tests.harness.cli import Robota, clean_environment

WRITE = call("write_to_file", path="hello.txt", content="hello\n")
QUESTION = call("ask_followup_question", question="Which colour?", follow_up=[{"text": "red"}])


class Opens(Protocol):
    def __call__(
        self, options: sdk.SessionOptions, *, on_ask: Any = None, env: Any = None, resume: str | None = None
    ) -> AbstractAsyncContextManager[sdk.AgentSession]: ...


def options(robota: Robota, **given: Any) -> sdk.SessionOptions:
    return sdk.SessionOptions(cwd=robota.workspace, **given)


@pytest.fixture(params=[sdk.open_session, sdk.start_process], ids=["in this process", "in a process of its own"])
def opens(request: pytest.FixtureRequest) -> Opens:
    way: Opens = request.param
    return way


def test_a_handler_decides_and_the_next_prompt_continues(robota: Robota, opens: Opens) -> None:
    """Its answer is about the call that it was shown; words that come later continue the same task."""
    script(
        robota,
        {"calls": [WRITE]},
        {"calls": [call("write_to_file", path="other.txt", content="x")]},
        {"expect": {"result": "only hello.txt"}, "text": "Done."},
        {"text": "Again."},
    )
    asked = []

    async def decide(pending: sdk.UnansweredAsk) -> sdk.Answer:
        assert isinstance(pending.ask, sdk.ApprovalAsk) and pending.call is not None
        asked.append((pending.call.name, pending.call.input["path"]))
        return sdk.Approve() if asked[-1][1] == "hello.txt" else sdk.Reject(text="only hello.txt")

    async def main() -> list[sdk.TurnResult]:
        async with opens(options(robota), on_ask=decide, env=clean_environment(robota.home)) as session:
            return [await session.run("go"), await session.run("and now?")]

    first, second = asyncio.run(main())
    assert (first.text, first.reason, second.text) == ("Done.", "completed", "Again.")
    assert asked == [("write_to_file", "hello.txt"), ("write_to_file", "other.txt")]
    assert (robota.workspace / "hello.txt").read_text() == "hello\n"
    assert not (robota.workspace / "other.txt").exists()
    assert (second.requests, second.session_id) == (4, first.session_id)
    assert robota("sessions", "verify", first.session_id).code == 0


def test_a_question_can_be_answered_by_hand(robota: Robota, opens: Opens) -> None:
    script(robota, {"calls": [QUESTION]}, {"expect": {"result": "blue"}, "calls": [WRITE]}, {"text": "Written."})

    async def main() -> tuple[sdk.TurnResult, ...]:
        async with opens(options(robota), env=clean_environment(robota.home)) as session:
            asks = await session.run("go")
            assert session.pending == asks.pending and session.store.agent_state.is_waiting_for_input
            wants = await session.run("blue")
            return asks, wants, await session.run(sdk.Approve())

    asks, wants, done = asyncio.run(main())
    assert asks.reason == "needs_input" and isinstance(asks.pending, sdk.UnansweredAsk)
    assert isinstance(asks.pending.ask, sdk.QuestionAsk) and asks.pending.ask.question == "Which colour?"
    assert wants.pending is not None and isinstance(wants.pending.ask, sdk.ApprovalAsk)
    assert (done.text, done.pending) == ("Written.", None)
    assert (robota.workspace / "hello.txt").exists()


def test_what_a_handler_raises_reaches_the_program_and_the_question_stays_open(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Done."})

    async def broken(pending: sdk.UnansweredAsk) -> sdk.Answer:
        raise LookupError("no rule for this")

    async def main() -> sdk.TurnResult:
        async with sdk.open_session(options(robota), on_ask=broken, env=clean_environment(robota.home)) as session:
            with pytest.raises(LookupError, match="no rule"):
                await session.run("go")
            return await session.run(sdk.Approve())

    assert asyncio.run(main()).text == "Done."


def test_an_interrupted_task_goes_on_with_the_next_prompt(robota: Robota, opens: Opens) -> None:
    script(robota, {"calls": [call("execute_command", command="echo begun; sleep 600")]}, {"text": "I went on."})

    async def main() -> tuple[sdk.TurnResult, sdk.TurnResult]:
        wanted = options(robota, allowed_tools=("Bash",))
        async with opens(wanted, env=clean_environment(robota.home)) as session:
            stopped = None
            async for event in session.stream("go"):
                if isinstance(event, sdk.MessageUpdated | sdk.MessageCreated) and "begun" in (event.message.text or ""):
                    await session.cancel()
                stopped = event
            assert isinstance(stopped, sdk.TurnResult)
            return stopped, await session.run("go on")

    stopped, resumed = asyncio.run(main())
    assert stopped.is_error and stopped.reason.startswith("aborted")
    assert resumed.text == "I went on."


def test_a_session_is_resumed_by_its_id(robota: Robota, opens: Opens) -> None:
    script(robota, {"text": "One."})

    async def main(prompt: str, resume: str | None) -> sdk.TurnResult:
        async with opens(options(robota), env=clean_environment(robota.home), resume=resume) as session:
            return await session.run(prompt)

    first = asyncio.run(main("go", None))
    script(robota, {"text": "Two."})
    second = asyncio.run(main("more", first.session_id))
    assert (second.text, second.session_id) == ("Two.", first.session_id)


def test_a_session_that_cannot_start_says_why(robota: Robota, opens: Opens) -> None:
    write_settings(robota, {"currentProvider": "gone", "providers": {}})

    async def main() -> None:
        async with opens(options(robota), env=clean_environment(robota.home)):
            raise AssertionError("opened")

    with pytest.raises(sdk.ConfigError, match="gone"):
        asyncio.run(main())


def test_a_second_program_attaches_to_a_running_session(robota: Robota) -> None:
    """Both see the same; the one that attached leaves, and the session goes on."""
    script(robota, {"calls": [WRITE]}, {"text": "Done."}, {"text": "Still here."})
    env = clean_environment(robota.home)

    async def main() -> tuple[str, str]:
        async with sdk.start_process(options(robota), env=env) as session:
            asks = await session.run("go")
            async with sdk.attach_session(session.id, env=env) as window:
                assert window.pending is not None and asks.pending is not None
                assert window.pending.ts == asks.pending.ts
                done = await window.run(sdk.Approve())
            return done.text, (await session.run("there?")).text

    assert asyncio.run(main()) == ("Done.", "Still here.")


def test_a_function_is_a_tool_that_passes_the_policy(robota: Robota) -> None:
    """One that may do anything is asked about; its exception is for the model, and so is what it returns."""
    script(
        robota,
        {"calls": [call("ticket", number="7")]},
        {"expect": {"result": "Ticket 7"}, "calls": [call("close_ticket", number=7)]},
        {"expect": {"result": "not today"}, "calls": [call("ticket", number=-1)]},
        {"expect": {"result": "LookupError: there is no ticket -1"}, "text": "Done."},
    )

    @sdk.tool(effects=frozenset({sdk.Effect.READ}))
    async def ticket(number: int) -> dict[str, str]:
        """Look up a ticket."""
        if number < 0:
            raise LookupError(f"there is no ticket {number}")
        return {"title": f"Ticket {number}"}

    @sdk.tool()
    def close_ticket(number: int, reason: str = "done") -> str:
        """Close a ticket."""
        raise AssertionError("it must not run")

    async def decide(pending: sdk.UnansweredAsk) -> sdk.Answer:
        assert pending.call is not None and pending.call.name == "close_ticket"
        return sdk.Reject(text="not today")

    async def main() -> sdk.TurnResult:
        embedding = sdk.Embedding(tools=(ticket, close_ticket))
        env = clean_environment(robota.home)
        async with sdk.open_session(options(robota), on_ask=decide, embedding=embedding, env=env) as session:
            return await session.run("go")

    assert asyncio.run(main()).text == "Done."


@pytest.mark.parametrize("rule", ["close_ticket", "close_ticket(*)"])
def test_a_deny_rule_names_a_tool_of_the_program(robota: Robota, rule: str) -> None:
    script(robota, {"calls": [call("close_ticket", number=7)]}, {"text": "Done."})
    ran = []

    @sdk.tool()
    def close_ticket(number: int) -> str:
        """Close a ticket."""
        ran.append(number)
        return "closed"

    async def main() -> sdk.TurnResult:
        async def yes(pending: sdk.UnansweredAsk) -> sdk.Answer:
            return sdk.Approve()

        wanted, embedding = options(robota, disallowed_tools=(rule,)), sdk.Embedding(tools=(close_ticket,))
        env = clean_environment(robota.home)
        async with sdk.open_session(wanted, on_ask=yes, embedding=embedding, env=env) as session:
            return await session.run("go")

    assert asyncio.run(main()).text == "Done."
    assert ran == []


def test_a_function_that_a_model_could_not_call_is_refused() -> None:
    with pytest.raises(ValueError, match="no docstring"):

        @sdk.tool()
        def silent(number: int) -> str:
            return ""

    with pytest.raises(ValueError, match="no annotation"):

        def untyped(number: int) -> str:
            """Do something."""
            return ""

        untyped.__annotations__.clear()
        sdk.tool()(untyped)

    with pytest.raises(ValueError, match="by name"):

        @sdk.tool()
        def many(*numbers: int) -> str:
            """Do something."""
            return ""


class Echo:
    """A provider that repeats who it is."""

    def __init__(self, profile: sdk.Profile) -> None:
        self._name = profile.model

    async def stream(self, request: sdk.ModelRequest) -> AsyncIterator[list[sdk.TextChunk | sdk.FinishChunk]]:
        kind = "kind" if "Be kind." in request.system else "unkind"
        yield [sdk.TextChunk(f"{self._name} is {kind}"), sdk.FinishChunk("stop")]

    async def close(self) -> None: ...


ECHO = sdk.ProviderDefinition(type="echo", display_name="Echo", description="repeats", create_provider=Echo)


def test_twenty_sessions_of_one_process_do_not_see_each_other(tmp_path: Path) -> None:
    """Each has its own home, directory, variables and prompt."""

    async def one(number: int) -> tuple[str, str]:
        home, workspace = tmp_path / f"home{number}", tmp_path / f"work{number}"
        home.mkdir()
        workspace.mkdir()
        settings = {"currentProvider": "mine", "providers": {"mine": {"type": "echo", "model": f"echo{number}"}}}
        wanted = sdk.SessionOptions(cwd=workspace, settings=settings, permission_mode=sdk.PermissionMode.BYPASS)
        embedding = sdk.Embedding(
            provider_definitions=(ECHO,),
            prompt_parts=("Be kind.",) if number % 2 else (),
            commands=(number_of(number),),
        )
        env = {**clean_environment(home), "NUMBER": str(number)}
        async with sdk.open_session(wanted, embedding=embedding, env=env) as session:
            return (await session.run("go")).text, (await session.run("/number")).text

    async def main() -> list[tuple[str, str]]:
        return await asyncio.gather(*map(one, range(20)))

    results = asyncio.run(main())
    assert results == [(f"echo{n} is {'kind' if n % 2 else 'unkind'}", f"number {n}") for n in range(20)]
    for number in range(20):
        assert len([*(tmp_path / f"work{number}" / ".robota" / "sessions").iterdir()]) >= 1


def number_of(number: int) -> sdk.OwnCommand:
    async def run(arguments: str) -> str:
        return f"number {number}"

    return sdk.OwnCommand(name="number", description="says its number", run=run)


def test_commands_of_a_session_have_its_environment(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="echo number $NUMBER")]}, {"text": "Done."})

    async def main() -> str:
        env = {**clean_environment(robota.home), "NUMBER": "17"}
        outputs = []
        async with sdk.open_session(options(robota, allowed_tools=("Bash",)), env=env) as session:
            async for event in session.stream("go"):
                if isinstance(event, sdk.MessageUpdated | sdk.MessageCreated):
                    outputs.append(event.message.text or "")
        return "\n".join(outputs)

    assert "number 17" in asyncio.run(main())


def test_a_slash_command_that_fails_does_not_end_the_session(robota: Robota, caplog: pytest.LogCaptureFixture) -> None:
    script(robota, {"text": "Fine."})

    async def broken(arguments: str) -> str:
        raise OSError("the server is down")

    async def main() -> tuple[sdk.TurnResult, sdk.TurnResult]:
        command = sdk.OwnCommand(name="deploy", description="deploys", run=broken)
        embedding, env = sdk.Embedding(commands=(command,)), clean_environment(robota.home)
        async with sdk.open_session(options(robota), embedding=embedding, env=env) as session:
            return await session.run("/deploy now"), await session.run("go")

    with caplog.at_level(logging.ERROR):
        failed, fine = asyncio.run(main())
    assert failed.is_error and failed.errors == ("/deploy failed: OSError: the server is down",)
    assert fine.text == "Fine."

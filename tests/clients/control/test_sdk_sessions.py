"""Sessions of programs with Claude's Python SDK: resumed at a message, and kept in a store of the program."""

import asyncio
import shutil
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.clients.control.claude_program import in_client, of_kind, one_prompt, options, sdk, turn
from tests.harness.cli import Robota


def told(robota: Robota, *texts: str, **given: Any) -> list[Any]:
    """The replies of a session, one for each prompt."""
    script(robota, *({"text": text} for text in texts))

    async def work(client: Any) -> list[Any]:
        replies = []
        for text in texts:
            await client.query(f"say {text}")
            replies += [each async for each in client.receive_response() if type(each).__name__ == "AssistantMessage"]
        return replies

    return list(in_client(robota, work, **given))


@pytest.mark.parametrize("forks", [True, False])
def test_a_session_is_resumed_at_a_message(robota: Robota, forks: bool) -> None:
    one, _ = told(robota, "One.", "Two.")
    # The request has the prompts and replies of the beginning, and none of what came later.
    script(robota, {"expect": {"turns": 3}, "text": "Three."})
    at = {"resume": one.session_id, "fork_session": forks, "extra_args": {"resume-session-at": one.uuid}}
    [result] = of_kind(one_prompt(robota, "and now", **at), "ResultMessage")
    assert result.result == "Three." and (result.session_id != one.session_id) is forks


def test_inside_a_turn_only_a_copy_begins(robota: Robota) -> None:
    script(robota, {"text": "I look.", "calls": [call("list_files", path=".")]}, {"text": "Done."}, {"text": "Later."})
    first = of_kind(one_prompt(robota), "AssistantMessage")[0]
    at = {"resume": first.session_id, "extra_args": {"resume-session-at": first.uuid}}
    with pytest.raises(Exception, match="--fork-session"):
        one_prompt(robota, "again", **at)
    script(robota, {"text": "Again."})
    [result] = of_kind(one_prompt(robota, "again", fork_session=True, **at), "ResultMessage")
    assert result.result == "Again."


def test_a_message_that_the_session_does_not_have_is_refused(robota: Robota) -> None:
    [one] = told(robota, "One.")
    with pytest.raises(Exception, match="has no message"):
        one_prompt(
            robota, resume=one.session_id, extra_args={"resume-session-at": "00000000-0000-8000-8000-000000000000"}
        )


def test_a_session_in_the_store_of_the_program_is_resumed_on_another_machine(robota: Robota) -> None:
    store = sdk.InMemorySessionStore()
    script(robota, {"text": "I look.", "calls": [call("list_files", path=".")]}, {"text": "One."})
    [first] = of_kind(one_prompt(robota, "say one", session_store=store), "ResultMessage")
    shutil.rmtree(robota.workspace / ".robota")
    script(robota, {"expect": {"turns": 5}, "text": "Two."}, {"text": "Three."})

    async def work(client: Any) -> list[Any]:
        return [await turn(client, "say two"), await turn(client, "say three")]

    second, third = in_client(robota, work, session_store=store, resume=first.session_id)
    assert (second.result, third.result, third.session_id) == ("Two.", "Three.", first.session_id)

    async def stored() -> Any:
        return await sdk.get_session_messages_from_store(store, first.session_id, directory=str(robota.workspace))

    said = [each.message["content"] for each in asyncio.run(stored()) if each.type == "user"]
    assert [each for each in said if isinstance(each, str)] == ["say one", "say two", "say three"]
    assert options(robota).cwd == str(robota.workspace)

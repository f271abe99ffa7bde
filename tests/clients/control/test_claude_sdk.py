"""The official Python SDK of Claude Code drives Robota as if it were Claude Code."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script, write_settings
from tests.clients.control.claude_program import collected, in_client, of_kind, one_prompt, options, sdk, turn
from tests.harness.cli import Robota

WRITE = call("write_to_file", path="a.txt", content="a\n")


def test_one_prompt_is_run_to_its_result(robota: Robota) -> None:
    script(robota, {"text": "Looking.", "calls": [call("list_files", path=".")]}, {"text": "Done."})
    messages = one_prompt(robota)
    [init] = [each for each in of_kind(messages, "SystemMessage") if each.subtype == "init"]
    assert {"Read", "Write", "Bash"} <= set(init.data["tools"])
    texts = [block.text for each in of_kind(messages, "AssistantMessage") for block in each.content[:1]]
    assert texts == ["Looking.", "Done."]
    [result] = of_kind(messages, "ResultMessage")
    assert (result.subtype, result.result, result.num_turns, result.is_error) == ("success", "Done.", 2, False)


def test_where_nobody_is_asked_a_write_is_denied(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Done."})
    [result] = of_kind(one_prompt(robota), "ResultMessage")
    assert [denial["tool_name"] for denial in result.permission_denials] == ["Write"]
    assert not (robota.workspace / "a.txt").exists()


def test_a_callback_allows_denies_and_changes_calls_over_several_turns(robota: Robota) -> None:
    """It sees Claude's names; each turn has its own result, and the cost is a running total."""
    script(
        robota,
        {"calls": [WRITE]},
        {"calls": [call("write_to_file", path="b.txt", content="b\n")]},
        {"expect": {"result": "not that one"}, "calls": [call("write_to_file", path="c.txt", content="c\n")]},
        {"text": "Done."},
        {"text": "Second."},
    )
    seen = []

    async def decide(tool: str, given: dict[str, Any], context: Any) -> Any:
        name = Path(given["file_path"]).name
        seen.append((tool, name))
        if name == "b.txt":
            return sdk.PermissionResultDeny(message="not that one")
        changed = {**given, "content": "changed\n"} if name == "c.txt" else None
        return sdk.PermissionResultAllow(updated_input=changed)

    async def work(client: Any) -> list[Any]:
        return [await turn(client, "go"), await turn(client, "again")]

    first, second = in_client(robota, work, can_use_tool=decide)
    assert (first.result, second.result, first.num_turns, second.num_turns) == ("Done.", "Second.", 4, 1)
    assert first.session_id == second.session_id
    assert seen[:3] == [("Write", "a.txt"), ("Write", "b.txt"), ("Write", "c.txt")]
    written = {path.name: path.read_text() for path in robota.workspace.glob("*.txt")}
    assert written == {"a.txt": "a\n", "c.txt": "changed\n"}


def test_a_callback_cannot_allow_what_a_rule_denies(robota: Robota) -> None:
    """Neither a call that the model makes, nor one that the callback makes of an allowed one."""
    script(
        robota,
        {"calls": [call("write_to_file", path="secret.txt", content="x")]},
        {"calls": [WRITE]},
        {"text": "Done."},
    )

    async def redirect(tool: str, given: dict[str, Any], context: Any) -> Any:
        return sdk.PermissionResultAllow(updated_input={**given, "file_path": str(robota.workspace / "secret.txt")})

    denied = {"can_use_tool": redirect, "disallowed_tools": ["Edit(/secret.txt)"]}
    result = in_client(robota, lambda client: turn(client, "go"), **denied)
    assert result.result == "Done."
    assert not (robota.workspace / "secret.txt").exists()


def test_a_rule_of_the_suggestions_stops_further_questions(robota: Robota) -> None:
    again = call("write_to_file", path="a.txt", content="b\n")
    script(robota, {"calls": [WRITE]}, {"calls": [again]}, {"text": "Done."})
    asked = []

    async def grant(tool: str, given: dict[str, Any], context: Any) -> Any:
        asked.append(tool)
        return sdk.PermissionResultAllow(updated_permissions=context.suggestions)

    assert in_client(robota, lambda client: turn(client, "go"), can_use_tool=grant).result == "Done."
    assert asked == ["Write"]
    assert (robota.workspace / "a.txt").read_text() == "b\n"


def test_a_question_of_the_model_is_asked_as_askuserquestion(robota: Robota) -> None:
    question = call("ask_followup_question", question="Which colour?", follow_up=[{"text": "red"}, {"text": "blue"}])
    script(robota, {"calls": [question]}, {"expect": {"result": "blue"}, "text": "Blue it is."})

    async def answer(tool: str, given: dict[str, Any], context: Any) -> Any:
        [asked] = given["questions"]
        assert (tool, [each["label"] for each in asked["options"]]) == ("AskUserQuestion", ["red", "blue"])
        return sdk.PermissionResultAllow(updated_input={**given, "answers": {asked["question"]: "blue"}})

    result = in_client(robota, lambda client: turn(client, "go"), can_use_tool=answer)
    assert result.result == "Blue it is."


def test_an_interrupt_stops_a_running_command_and_the_next_prompt_goes_on(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="sleep 600")]}, {"text": "I went on."})

    async def work(client: Any) -> list[Any]:
        await client.query("go")
        await asyncio.wait_for(begins.wait(), 60)
        await client.interrupt()
        return [(await collected(client))[-1], await turn(client, "go on")]

    begins = asyncio.Event()

    async def before(given: Any, tool_use_id: str | None, context: Any) -> Any:
        begins.set()
        return {}

    hooks = {"PreToolUse": [sdk.HookMatcher(hooks=[before])]}
    stopped, resumed = in_client(robota, work, allowed_tools=["Bash"], hooks=hooks)
    assert (stopped.subtype, stopped.is_error) == ("error_during_execution", True)
    assert resumed.result == "I went on."


def test_hooks_of_the_program_see_and_stop_calls(robota: Robota) -> None:
    script(
        robota,
        {"calls": [call("execute_command", command="echo one > one.txt")]},
        {"expect": {"result": "not in this test"}, "calls": [call("list_files", path=".")]},
        {"text": "Done."},
    )
    seen = []

    async def before(given: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append((given["hook_event_name"], given["tool_name"], given["tool_input"]["command"]))
        decision = {"permissionDecision": "deny", "permissionDecisionReason": "not in this test"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

    async def after(given: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append((given["hook_event_name"], given["tool_name"], ""))
        return {}

    hooks = {
        "PreToolUse": [sdk.HookMatcher(matcher="Bash", hooks=[before])],
        "PostToolUse": [sdk.HookMatcher(hooks=[after])],
    }
    result = in_client(robota, lambda client: turn(client, "go"), hooks=hooks, allowed_tools=["Bash"])
    assert result.result == "Done."
    assert seen == [("PreToolUse", "Bash", "echo one > one.txt"), ("PostToolUse", "List", "")]
    assert not (robota.workspace / "one.txt").exists()


def test_tools_of_the_program_are_called_over_the_connection(robota: Robota) -> None:
    script(
        robota,
        {"calls": [call("mcp__calc__add", a=2, b=3)]},
        {"expect": {"result": "the sum is 5"}, "calls": [call("mcp__calc__fail")]},
        {"expect": {"result": "out of numbers"}, "text": "Five."},
    )

    async def add(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"the sum is {given['a'] + given['b']}"}]}

    async def fail(given: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("out of numbers")

    tools = [sdk.tool("add", "Add two numbers", {"a": int, "b": int})(add), sdk.tool("fail", "Always fails", {})(fail)]
    servers = {"calc": sdk.create_sdk_mcp_server("calc", tools=tools)}
    allowed = ["mcp__calc__add", "mcp__calc__fail"]
    messages = one_prompt(robota, mcp_servers=servers, allowed_tools=allowed)
    assert of_kind(messages, "ResultMessage")[0].result == "Five."


def test_requests_about_the_session_are_answered(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Done."})

    async def work(client: Any) -> None:
        info = await client.get_server_info()
        assert "rewind" in {command["name"] for command in info["commands"]}
        await client.set_permission_mode("acceptEdits")
        await client.set_model("other")
        await client.query("go")
        messages = await collected(client)
        assert [each.model for each in of_kind(messages, "AssistantMessage")] == ["other", "other"]
        assert messages[-1].result == "Done."
        usage = await client.get_context_usage()
        assert usage["totalTokens"] > 0 and usage["categories"]
        assert await client.get_mcp_status() == {"mcpServers": []}
        with pytest.raises(Exception, match="no permission mode"):
            await client.set_permission_mode("sometimes")
        with pytest.raises(Exception, match="no background work"):
            await client.stop_task("1")

    in_client(robota, work)
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_files_are_rewound_to_a_prompt(robota: Robota) -> None:
    script(
        robota,
        {"calls": [WRITE]},
        {"text": "One."},
        {"calls": [call("write_to_file", path="a.txt", content="b\n")]},
        {"text": "Two."},
    )

    async def work(client: Any) -> None:
        await turn(client, "one")
        await client.query("two")
        [replayed] = [each.uuid for each in of_kind(await collected(client), "UserMessage") if each.content == "two"]
        assert (robota.workspace / "a.txt").read_text() == "b\n"
        await client.rewind_files(replayed)

    flags = {"extra_args": {"replay-user-messages": None}, "enable_file_checkpointing": True}
    in_client(robota, work, permission_mode="acceptEdits", **flags)
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_an_answer_of_a_given_shape(robota: Robota) -> None:
    script(robota, {"text": "Five of them."}, {"text": '{"count": 5}'})
    shape = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    [result] = of_kind(one_prompt(robota, output_format={"type": "json_schema", "schema": shape}), "ResultMessage")
    assert result.structured_output == {"count": 5}


def test_a_session_is_resumed_and_forked(robota: Robota) -> None:
    script(robota, {"text": "One."})
    [first] = of_kind(one_prompt(robota), "ResultMessage")
    script(robota, {"text": "Two."})
    [second] = of_kind(one_prompt(robota, resume=first.session_id), "ResultMessage")
    assert (second.result, second.session_id) == ("Two.", first.session_id)
    script(robota, {"text": "Three."})
    [forked] = of_kind(one_prompt(robota, resume=first.session_id, fork_session=True), "ResultMessage")
    assert forked.result == "Three." and forked.session_id != first.session_id


def test_partial_messages_and_options_without_a_meaning(robota: Robota) -> None:
    script(robota, {"text": "A long answer.", "reasoning": "Hm."})
    told: list[str] = []
    more: dict[str, Any] = {"betas": ["context-1m-2025-08-07"], "max_thinking_tokens": 100, "setting_sources": ["user"]}
    messages = one_prompt(robota, include_partial_messages=True, stderr=told.append, **more)
    deltas = [each.event["delta"] for each in of_kind(messages, "StreamEvent") if "delta" in each.event]
    assert "".join(each.get("text", "") for each in deltas) == "A long answer."
    assert any("--betas" in line for line in told)


def test_prompts_of_a_stream_are_answered_one_after_the_other(robota: Robota) -> None:
    script(robota, {"text": "One."}, {"text": "Two."})

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        for text in ("first", "second"):
            yield {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}

    async def main() -> list[Any]:
        return [message async for message in sdk.query(prompt=prompts(), options=options(robota))]

    assert [each.result for each in of_kind(asyncio.run(main()), "ResultMessage")] == ["One.", "Two."]


def test_only_the_tools_that_the_program_names_are_there(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="touch a.txt")]}, {"text": "Done."})
    [result] = of_kind(one_prompt(robota, tools=["Read"], permission_mode="bypassPermissions"), "ResultMessage")
    assert result.result == "Done." and not (robota.workspace / "a.txt").exists()


def test_a_session_that_cannot_start_says_why(robota: Robota) -> None:
    write_settings(robota, {"currentProvider": "gone", "providers": {}})
    with pytest.raises(Exception, match="gone"):
        one_prompt(robota)


def test_what_agents_side_by_side_need_approval_for_is_asked_with_their_own_calls(robota: Robota) -> None:
    names = ("one", "two")
    agents = [
        call("agent", description=name, prompt=f"write {name}", subagent_type="general-purpose") for name in names
    ]
    script(
        robota,
        {"calls": agents},
        *({"task": f"write {n}", "calls": [call("write_to_file", path=f"{n}.txt", content=n)]} for n in names),
        *({"task": f"write {n}", "text": f"wrote {n}"} for n in names),
        {"text": "Both."},
    )
    asked: list[str] = []
    both_ask = asyncio.Event()

    async def decide(tool: str, given: dict[str, Any], context: Any) -> Any:
        asked.append(f"{tool} {given.get('file_path', '')}")
        if len(asked) == len(names):
            both_ask.set()
        await both_ask.wait()
        return sdk.PermissionResultAllow()

    assert in_client(robota, lambda client: turn(client, "go"), can_use_tool=decide).result == "Both."
    assert sorted(each.rpartition("/")[2] for each in asked) == ["one.txt", "two.txt"]
    assert {path.name for path in robota.workspace.glob("*.txt")} == {"one.txt", "two.txt"}
